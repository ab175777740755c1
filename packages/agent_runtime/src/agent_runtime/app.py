"""The agent's HTTP face: `POST /invocations` as server-sent events and `GET /ping`, on Amazon Bedrock AgentCore's app,
where `/ws` is opened too.

Facts about bedrock-agentcore 1.25 that shape this module: an async-generator entrypoint runs on a second event loop
and is not cancelled when the caller goes away, while a `StreamingResponse` that the entrypoint returns is iterated on
the main loop and is; an exception in an entrypoint becomes a frame or a body with `str(exception)`, so none may leave
it. Nothing here blocks the main loop: `/ping` shares it.

The app's own `/ping` gives as `time_of_last_update` when a ping last saw another status than the one before it, which
is no time of anything: AgentCore ends sessions by it. So the route is ours.

A refused request is answered with HTTP 200 and one `error` event. AgentCore turns other statuses into an exception of
its own, and the code would be lost on the way.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import anyio
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext, RequestContext
from bedrock_agentcore.runtime.models import PingStatus
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Send
from starlette.websockets import WebSocket

from .body_gate import BodyGate
from .events import AgentEvent, render_sse
from .request import parse_request
from .turns import Turns
from .websocket import SEND_TIMEOUT_S, Socket

_THREADS_A_TURN: Final = 2  # one reads the model's answer; another is needed for a tool, or for AWS credentials

_log = logging.getLogger(__name__)


class EventResponse(StreamingResponse):
    """Server-sent events from a generator that is always closed before the response is over."""

    def __init__(self, events: AsyncGenerator[AgentEvent], send_timeout_s: float = SEND_TIMEOUT_S) -> None:
        self._events = events
        self._send_timeout_s = send_timeout_s
        super().__init__(_render(events), media_type="text/event-stream", headers={"cache-control": "no-cache"})

    async def stream_response(self, send: Send) -> None:
        """Overrides Starlette's, which leaves the generator to the garbage collector when the caller goes away."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._send_timeout_s):
                await send(message)

        try:
            await super().stream_response(send_in_time)
        except TimeoutError:
            _log.warning("the caller does not read", extra={"limit_s": self._send_timeout_s})
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()


def create_app(turns: Turns, *, send_timeout_s: float = SEND_TIMEOUT_S) -> BedrockAgentCoreApp:
    """The ASGI application. A caller that takes nothing for `send_timeout_s` is let go."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # asyncio's own pool has 6 threads on two cores, and the 7th caller would wait.
        threads = turns.max_turns * _THREADS_A_TURN
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="model"))
        yield
        await turns.conversations.close()

    app = BedrockAgentCoreApp(lifespan=lifespan, middleware=[Middleware(BodyGate)])
    app.router.routes.insert(0, Route("/ping", _ping(turns), methods=["GET"]))

    @app.entrypoint
    def invoke(payload: object, context: RequestContext) -> Response:
        request_id = BedrockAgentCoreContext.get_request_id() or str(uuid.uuid4())
        return EventResponse(_answer(turns, payload, context.session_id, request_id[:128]), send_timeout_s)

    @app.websocket
    async def converse(websocket: WebSocket, context: RequestContext) -> None:
        async with turns.conversations.join(context.session_id) as conversation:
            await Socket(websocket, turns, conversation, send_timeout_s=send_timeout_s).serve()

    return app


async def _answer(turns: Turns, payload: object, session_id: str | None, request_id: str) -> AsyncGenerator[AgentEvent]:
    async with turns.conversations.join(session_id) as conversation:
        turn = turns.take(lambda: parse_request(payload, turns.max_prompt_chars), conversation, request_id)
        async with contextlib.aclosing(turn.events()) as events:
            async for event in events:
                yield event


async def _render(events: AsyncGenerator[AgentEvent]) -> AsyncIterator[bytes]:
    async for event in events:
        yield render_sse(event)


def _ping(turns: Turns) -> Callable[[Request], Awaitable[Response]]:
    async def ping(_: Request) -> Response:
        status = PingStatus.HEALTHY_BUSY if turns.active else PingStatus.HEALTHY
        return JSONResponse({"status": status.value, "time_of_last_update": int(turns.last_activity_s)})

    return ping
