"""Amazon Bedrock AgentCore's data plane on loopback: InvokeAgentRuntime and /ws → the agent's POST /invocations and
/ws.

Documented limits kept: a session id of 33 to 256 characters, 100 MB a payload, 15 minutes for an answer to begin and
between its pieces, WebSocket messages of at most 32 KiB (the platform's limit is on frames; uvicorn joins fragments,
so a fragmented message is held to it as a whole, which nobody here sends)."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import httpx
import websockets.asyncio.client as websockets_client
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from local_cloud.errors import RequestRefused, SignatureRefused
from local_cloud.http_plane import HttpPlane, upstream_client
from local_cloud.relay import RelayResponse, until_hangup
from local_cloud.signatures import Credentials

SESSION_HEADER = "x-amzn-bedrock-agentcore-runtime-session-id"
USER_HEADER = "x-amzn-bedrock-agentcore-runtime-user-id"
CUSTOM_PREFIX = "x-amzn-bedrock-agentcore-runtime-custom-"
MIN_SESSION_ID, MAX_SESSION_ID = 33, 256
ENDPOINTS = ("DEFAULT", "live")
"""Of every runtime here: AgentCore's own, and the one that `agent-infra` makes."""
MAX_FRAME_BYTES = 32 * 1024
RESPOND_S = 15 * 60.0
CONNECT_S = 2.0


class AgentCore(HttpPlane):
    """The AgentCore data plane. `runtimes` maps agent runtime ARNs to the base URLs of their agents."""

    service = "bedrock-agentcore"
    title = "the AgentCore plane"
    max_body_bytes = 100 * 1024 * 1024
    ws_max_bytes = MAX_FRAME_BYTES

    def __init__(
        self,
        runtimes: Mapping[str, str],
        *,
        credentials: Credentials,
        region: str = "us-east-1",
        port: int = 0,
        respond_s: float = RESPOND_S,
    ) -> None:
        super().__init__(credentials=credentials, region=region, port=port)
        self._runtimes = dict(runtimes)
        self._respond_s = respond_s

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/runtimes/{arn:path}/invocations", self._invoke, methods=["POST"]),
            WebSocketRoute("/runtimes/{arn:path}/ws", self._converse),
        ]

    async def open(self, life: AsyncExitStack) -> None:
        self._client = await life.enter_async_context(upstream_client(connect_s=CONNECT_S, respond_s=self._respond_s))

    async def _invoke(self, request: Request) -> Response:
        body = await self.read_signed_body(request)
        base, session_id = self._address(request)
        headers = {
            "content-type": request.headers.get("content-type", "application/json"),
            "accept": request.headers.get("accept", "*/*"),
            SESSION_HEADER: session_id,
        }
        headers |= {key: value for key, value in request.headers.items() if _is_passed_on(key)}
        async with AsyncExitStack() as life:
            asking = self._client.stream("POST", f"{base}/invocations", content=body, headers=headers)
            try:
                answer = await until_hangup(request.receive, life.enter_async_context(asking))
            except httpx.TimeoutException as error:
                raise RequestRefused(
                    424, "RuntimeClientError", f"The agent did not respond within {self._respond_s:g} seconds."
                ) from error
            except httpx.HTTPError as error:
                raise RequestRefused(424, "RuntimeClientError", "The agent could not be reached.") from error
            if answer.status_code >= 400:
                raise RequestRefused(
                    424,
                    "RuntimeClientError",
                    f"Received error ({answer.status_code}) from runtime. Please check its logs.",
                )
            passed = {SESSION_HEADER: session_id, "x-amzn-requestid": str(uuid.uuid4())}
            passed["content-type"] = answer.headers.get("content-type", "application/octet-stream")
            return RelayResponse(_pieces(answer, life.pop_all()), headers=passed)

    async def _converse(self, caller: WebSocket) -> None:
        try:
            self.verify(caller, "GET", b"")
            base, session_id = self._address(caller)
        except (SignatureRefused, RequestRefused) as error:
            await caller.send_denial_response(self.error(error.status, error.code, error.message))
            return
        dialling = websockets_client.connect(
            urlsplit(base)._replace(scheme="ws").geturl() + "/ws",
            additional_headers={SESSION_HEADER: session_id},
            max_size=MAX_FRAME_BYTES,
            max_queue=4,
            compression=None,
            open_timeout=CONNECT_S,
            close_timeout=CONNECT_S,
            proxy=None,
        )
        try:
            agent = await dialling
        except (OSError, InvalidHandshake):
            message = "The agent does not accept WebSockets."
            await caller.send_denial_response(self.error(424, "RuntimeClientError", message))
            return
        async with agent:
            await caller.accept()
            await _carry_both_ways(caller, agent)

    def _address(self, connection: HTTPConnection) -> tuple[str, str]:
        """The agent's base URL and the session id. Raises `RequestRefused`."""
        base = self._runtimes.get(connection.path_params["arn"])
        if base is None:
            raise RequestRefused(404, "ResourceNotFoundException", "No endpoint or agent found with this ARN.")
        query = {key.lower(): value for key, value in connection.query_params.items()}
        if query.get("qualifier", ENDPOINTS[0]) not in ENDPOINTS:
            raise RequestRefused(404, "ResourceNotFoundException", "No endpoint or agent found with this qualifier.")
        session_id = connection.headers.get(SESSION_HEADER) or query.get(SESSION_HEADER) or str(uuid.uuid4())
        if not MIN_SESSION_ID <= len(session_id) <= MAX_SESSION_ID:
            raise RequestRefused(
                400,
                "ValidationException",
                f"Expected a runtimeSessionId of {MIN_SESSION_ID} to {MAX_SESSION_ID} characters, "
                f"got {len(session_id)}.",
            )
        return base.rstrip("/"), session_id


def _is_passed_on(header: str) -> bool:
    return header == USER_HEADER or header.startswith(CUSTOM_PREFIX)


@asynccontextmanager
async def _pieces(answer: httpx.Response, life: AsyncExitStack) -> AsyncIterator[AsyncIterator[bytes]]:
    async with life:
        yield answer.aiter_bytes()


async def _carry_both_ways(caller: WebSocket, agent: websockets_client.ClientConnection) -> None:
    up = asyncio.create_task(_carry_up(caller, agent), name="to the agent")
    down = asyncio.create_task(_carry_down(caller, agent), name="from the agent")
    try:
        await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


async def _carry_up(caller: WebSocket, agent: websockets_client.ClientConnection) -> None:
    code, reason = 1000, ""
    with contextlib.suppress(ConnectionClosed):
        while (message := await caller.receive())["type"] != "websocket.disconnect":
            text: str | None = message.get("text")
            await agent.send(text if text is not None else message["bytes"])
        code = message.get("code", 1005)
        reason = message.get("reason") or ""
    await agent.close(code if code in (1000, 1001) or 3000 <= code < 5000 else 1001, reason)


async def _carry_down(caller: WebSocket, agent: websockets_client.ClientConnection) -> None:
    with contextlib.suppress(WebSocketDisconnect):
        try:
            while True:
                message = await agent.recv()
                if isinstance(message, str):
                    await caller.send_text(message)
                else:
                    await caller.send_bytes(message)
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd is not None else 1011
            if closed.sent is not None and not closed.rcvd_then_sent:
                code = closed.sent.code  # We closed it: what the agent sent was too long.
            await caller.close(1011 if code in (1005, 1006) else code)
