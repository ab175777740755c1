"""boto3's bedrock-agentcore, and WebSocket callers, against the plane with a small agent behind it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from botocore.exceptions import ClientError
from local_cloud.agentcore import MAX_FRAME_BYTES, SESSION_HEADER, AgentCore
from local_cloud.http_plane import upstream_client
from local_cloud.loopback import AppServer
from local_cloud.signatures import Credentials
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from packages.local_cloud.tests.conftest import REGION, signed_post, soon

BotoClient = Callable[..., Any]
ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/voice-agent-abc123"
DEAD = ARN.replace("voice", "dead")
SESSION = "a-session-id-of-at-least-33-characters"


class Agent:
    """An agent whose SSE goes on when it is told to, and whose WebSocket does what a message says."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.go_on = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.ws_closed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.ws_session = ""
        routes = [Route("/invocations", self._invoke, methods=["POST"]), WebSocketRoute("/ws", self._talk)]
        self.server = AppServer(Starlette(routes=routes), what="the agent")

    async def _invoke(self, request: Request) -> Response:
        self.requests.append((dict(request.headers), await request.body()))
        if self.status != 200:
            return Response("/a/path in a traceback", self.status)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[bytes]:
        try:
            yield b'data: {"type": "agent_start"}\n\n'
            await self.go_on.wait()
            yield b'data: {"type": "agent_end"}\n\n'
        except asyncio.CancelledError:
            self.hung_up.set()
            raise

    async def _talk(self, caller: WebSocket) -> None:
        self.ws_session = caller.headers[SESSION_HEADER]
        await caller.accept()
        while (message := await caller.receive())["type"] != "websocket.disconnect":
            if message.get("text") == "close":
                await caller.close(4000, "as asked")
            elif message.get("text") == "too long":
                await caller.send_bytes(bytes(MAX_FRAME_BYTES + 1))
            elif (text := message.get("text")) is not None:
                await caller.send_text(text)
            else:
                await caller.send_bytes(message["bytes"])
        self.ws_closed.set_result(message["code"])


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    made = Agent()
    async with made.server:
        yield made


@pytest.fixture
async def plane(agent: Agent, credentials: Credentials) -> AsyncIterator[AgentCore]:
    runtimes = {ARN: agent.server.url, DEAD: "http://127.0.0.1:9"}
    async with AgentCore(runtimes, credentials=credentials) as serving:
        yield serving


def invoke(boto: Any, **members: Any) -> Any:
    given = {"agentRuntimeArn": ARN, "runtimeSessionId": SESSION, "payload": b'{"prompt": "Hello?"}'}
    return boto.invoke_agent_runtime(**(given | members))


async def test_events_stream_through_as_they_come(agent: Agent, plane: AgentCore, boto_client: BotoClient) -> None:
    answer = await asyncio.to_thread(invoke, boto_client("bedrock-agentcore", plane.url), qualifier="DEFAULT")
    assert answer["contentType"].startswith("text/event-stream")
    assert answer["runtimeSessionId"] == SESSION
    lines = answer["response"].iter_lines(chunk_size=1)
    assert await soon(asyncio.to_thread(next, lines)) == b'data: {"type": "agent_start"}'
    assert not agent.go_on.is_set()
    agent.go_on.set()
    rest = await soon(asyncio.to_thread(list, lines))
    assert [line for line in rest if line] == [b'data: {"type": "agent_end"}']
    ((headers, body),) = agent.requests
    assert json.loads(body) == {"prompt": "Hello?"}
    assert headers[SESSION_HEADER] == SESSION
    assert "authorization" not in headers


@pytest.mark.parametrize("length", [33, 256])
async def test_a_session_id_of_the_right_length_passes(
    agent: Agent, plane: AgentCore, boto_client: BotoClient, length: int
) -> None:
    agent.go_on.set()
    answer = await asyncio.to_thread(invoke, boto_client("bedrock-agentcore", plane.url), runtimeSessionId="s" * length)
    await asyncio.to_thread(answer["response"].read)
    assert agent.requests[0][0][SESSION_HEADER] == "s" * length


@pytest.mark.parametrize("length", [32, 257])
async def test_a_session_id_of_another_length_is_refused(
    agent: Agent, plane: AgentCore, credentials: Credentials, length: int
) -> None:
    path = f"/runtimes/{quote(ARN, safe='')}/invocations"
    request = AWSRequest("POST", plane.url + path, {SESSION_HEADER: "s" * length}, b"{}")
    known = BotoCredentials(credentials.access_key_id, credentials.secret_access_key)
    SigV4Auth(known, "bedrock-agentcore", REGION).add_auth(request)
    async with upstream_client(connect_s=5, respond_s=30) as http:
        answer = await http.post(plane.url + path, content=b"{}", headers=dict(request.headers.items()))
    assert answer.status_code == 400
    assert answer.headers["x-amzn-errortype"] == "ValidationException"
    assert answer.json() == {"message": f"Expected a runtimeSessionId of 33 to 256 characters, got {length}."}
    assert agent.requests == []


async def test_without_a_session_id_one_is_made(agent: Agent, plane: AgentCore, credentials: Credentials) -> None:
    agent.go_on.set()
    path = f"/runtimes/{quote(ARN, safe='')}/invocations"
    async with signed_post(plane.url, path, "bedrock-agentcore", b"{}", credentials) as (reader, _):
        assert b"200" in await soon(reader.readline())
    assert len(agent.requests[0][0][SESSION_HEADER]) >= 33


async def test_errors_have_the_services_shape_and_no_details(
    agent: Agent, plane: AgentCore, boto_client: BotoClient
) -> None:
    boto = boto_client("bedrock-agentcore", plane.url)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        await asyncio.to_thread(invoke, boto, agentRuntimeArn=ARN + "x")
    with pytest.raises(ClientError, match=r"RuntimeClientError.*could not be reached"):
        await asyncio.to_thread(invoke, boto, agentRuntimeArn=DEAD)
    agent.status = 500
    with pytest.raises(ClientError, match=r"RuntimeClientError.*\(500\)") as raised:
        await asyncio.to_thread(invoke, boto)
    assert "/a/path" not in str(raised.value)
    wrong = boto_client("bedrock-agentcore", plane.url, Credentials("AKIALOCALTEST", "guess"))
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        await asyncio.to_thread(invoke, wrong)


async def test_a_caller_that_hangs_up_ends_the_request_to_the_agent(
    agent: Agent, plane: AgentCore, credentials: Credentials
) -> None:
    path = f"/runtimes/{quote(ARN, safe='')}/invocations"
    async with signed_post(plane.url, path, "bedrock-agentcore", b"{}", credentials) as (reader, _):
        await soon(reader.readuntil(b"agent_start"))
    await soon(agent.hung_up.wait())


# WebSocket


def ws_headers(plane: AgentCore, credentials: Credentials, session: str | None = SESSION) -> tuple[str, dict[str, str]]:
    path = f"/runtimes/{quote(ARN, safe='')}/ws"
    request = AWSRequest("GET", plane.url + path, {SESSION_HEADER: session} if session else {})
    known = BotoCredentials(credentials.access_key_id, credentials.secret_access_key)
    SigV4Auth(known, "bedrock-agentcore", REGION).add_auth(request)
    return plane.url.replace("http", "ws") + path, dict(request.headers.items())


async def test_a_websocket_carries_text_and_binary_both_ways(
    agent: Agent, plane: AgentCore, credentials: Credentials
) -> None:
    url, headers = ws_headers(plane, credentials)
    async with connect(url, additional_headers=headers, proxy=None) as caller:
        await caller.send("naïve")
        assert await soon(caller.recv()) == "naïve"
        largest = bytes(MAX_FRAME_BYTES)
        await caller.send(largest)
        assert await soon(caller.recv()) == largest
        assert agent.ws_session == SESSION
    assert await soon(agent.ws_closed) == 1000


async def test_a_presigned_url_opens_a_websocket(agent: Agent, plane: AgentCore, credentials: Credentials) -> None:
    path = f"/runtimes/{quote(ARN, safe='')}/ws?{SESSION_HEADER.title()}={SESSION}"
    request = AWSRequest("GET", plane.url + path)
    known = BotoCredentials(credentials.access_key_id, credentials.secret_access_key)
    SigV4QueryAuth(known, "bedrock-agentcore", REGION, expires=300).add_auth(request)
    async with connect(request.url.replace("http", "ws"), proxy=None) as caller:
        await caller.send("hello")
        assert await soon(caller.recv()) == "hello"
    assert agent.ws_session == SESSION


async def test_frames_above_32_kib_close_the_websocket(
    agent: Agent, plane: AgentCore, credentials: Credentials
) -> None:
    url, headers = ws_headers(plane, credentials)
    for too_long in (bytes(MAX_FRAME_BYTES + 1), "too long"):
        async with connect(url, additional_headers=headers, proxy=None) as caller:
            await caller.send(too_long)
            with pytest.raises(ConnectionClosed) as closed:
                await soon(caller.recv())
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
        await soon(agent.ws_closed)
        agent.ws_closed = asyncio.get_running_loop().create_future()


async def test_the_agents_close_reaches_the_caller(agent: Agent, plane: AgentCore, credentials: Credentials) -> None:
    url, headers = ws_headers(plane, credentials)
    async with connect(url, additional_headers=headers, proxy=None) as caller:
        await caller.send("close")
        with pytest.raises(ConnectionClosed) as closed:
            await soon(caller.recv())
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4000


async def test_a_caller_that_drops_closes_the_agents_websocket(
    agent: Agent, plane: AgentCore, credentials: Credentials
) -> None:
    url, headers = ws_headers(plane, credentials)
    caller = await connect(url, additional_headers=headers, proxy=None)
    await caller.send("hello")
    await soon(caller.recv())
    caller.transport.abort()
    assert await soon(agent.ws_closed) in (1001, 1006)


async def test_a_websocket_that_may_not_is_refused_before_it_opens(
    agent: Agent, plane: AgentCore, credentials: Credentials
) -> None:
    url, headers = ws_headers(plane, Credentials("AKIALOCALTEST", "guess"))
    with pytest.raises(InvalidStatus) as refused:
        await connect(url, additional_headers=headers, proxy=None)
    assert refused.value.response.status_code == 403
    assert refused.value.response.headers["x-amzn-errortype"] == "InvalidSignatureException"
    url, headers = ws_headers(plane, credentials, session="too-short")
    with pytest.raises(InvalidStatus) as refused:
        await connect(url, additional_headers=headers, proxy=None)
    assert refused.value.response.status_code == 400
    assert agent.ws_session == ""
