"""Both callers name the endpoint of a runtime that they are given, and say when there is no such endpoint."""

from collections.abc import AsyncIterator

import pytest
from local_cloud.agentcore import AgentCore
from local_cloud.caller import AgentCaller
from local_cloud.errors import AnswerFailed
from local_cloud.loopback import AppServer
from local_cloud.signatures import Credentials
from local_cloud.socket_caller import SocketCaller
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from packages.local_cloud.tests.conftest import REGION

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/voice_dev-abc123"
END = '{"type": "agent_end", "sentences": []}'


async def _invoke(request: Request) -> Response:
    del request
    return Response(f"data: {END}\n\n", media_type="text/event-stream")


async def _talk(caller: WebSocket) -> None:
    await caller.accept()
    await caller.receive_text()
    await caller.send_text(END)
    await caller.receive()


@pytest.fixture
async def plane(credentials: Credentials) -> AsyncIterator[AgentCore]:
    routes = [Route("/invocations", _invoke, methods=["POST"]), WebSocketRoute("/ws", _talk)]
    async with (
        AppServer(Starlette(routes=routes), what="the agent") as agent,
        AgentCore({ARN: agent.url}, credentials=credentials) as serving,
    ):
        yield serving


def caller(plane: AgentCore, credentials: Credentials, qualifier: str | None) -> AgentCaller:
    return AgentCaller(
        ARN, REGION, plane.url, credentials.access_key_id, credentials.secret_access_key, qualifier=qualifier
    )


@pytest.mark.parametrize("qualifier", [None, "DEFAULT", "live"])
async def test_an_endpoint_that_is_there_answers_on_both_faces(
    plane: AgentCore, credentials: Credentials, qualifier: str | None
) -> None:
    asking = caller(plane, credentials, qualifier)
    assert (await asking.ask("Hello?", mode="bidi")).text == ""
    async with SocketCaller.connect(asking) as socket:
        assert (await socket.ask("Hello?", mode="bidi")).text == ""


async def test_an_endpoint_that_is_not_there_is_said_on_both_faces(plane: AgentCore, credentials: Credentials) -> None:
    asking = caller(plane, credentials, "nowhere")
    with pytest.raises(AnswerFailed, match="No endpoint or agent found with this qualifier"):
        await asking.ask("Hello?", mode="bidi")
    with pytest.raises(AnswerFailed, match="404"):
        async with SocketCaller.connect(asking):
            pass
