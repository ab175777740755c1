"""The agent's HTTP face: `POST /invocations` as server-sent events and `GET /ping`, on Amazon Bedrock AgentCore's app.

Facts about bedrock-agentcore 1.25 that shape this module: an async-generator entrypoint runs on a second event loop
and is not cancelled when the caller goes away, while a `StreamingResponse` that the entrypoint returns is iterated on
the main loop and is; an exception in an entrypoint becomes a frame or a body with `str(exception)`, so none may leave
it. Nothing here blocks the main loop: `/ping` shares it.

A refused request is answered with HTTP 200 and one `error` event. AgentCore turns other statuses into an exception of
its own, and the code would be lost on the way.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import anyio
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext, RequestContext
from bedrock_agentcore.runtime.models import PingStatus
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from . import log
from .answer import Answer
from .body_gate import BodyGate
from .errors import AgentErrorCode, RequestError
from .events import AgentErrorEvent, AgentEvent, render_sse
from .request import DEFAULT_MAX_PROMPT_CHARS, AgentRequest, describe, parse_request
from .settings import DEFAULT_MAX_TURNS

_log = logging.getLogger(__name__)


class Turns:
    """The turns in progress: refuses what cannot be served, counts and logs the rest."""

    def __init__(self, answer: Answer, max_turns: int, max_prompt_chars: int) -> None:
        self._answer = answer
        self._max_turns = max_turns
        self._max_prompt_chars = max_prompt_chars
        self.active = 0

    async def respond(self, payload: object, request_id: str) -> AsyncGenerator[AgentEvent]:
        """All events of one turn. Closing the generator, or cancelling who iterates it, ends the turn."""
        log.request_id.set(request_id)
        try:
            request = self._admit(payload)
        except RequestError as error:
            _log.info("turn refused", extra={"code": error.code})
            yield AgentErrorEvent(error.code, error.message)
            return
        _log.info("turn began", extra=describe(request))
        self.active += 1
        last, outcome = "", "caller went away"
        try:
            async with contextlib.aclosing(self._answer(request, request_id)) as events:
                async for event in events:
                    yield event
                    last = event.code if isinstance(event, AgentErrorEvent) else event.type
            outcome = last
        finally:
            self.active -= 1
            _log.info("turn ended", extra={"outcome": outcome})

    def _admit(self, payload: object) -> AgentRequest:
        request = parse_request(payload, self._max_prompt_chars)
        if self.active >= self._max_turns:
            raise RequestError(AgentErrorCode.BUSY, "the agent answers as many callers as it can; try again soon")
        return request


class EventResponse(StreamingResponse):
    """Server-sent events from a generator that is always closed before the response is over."""

    def __init__(self, events: AsyncGenerator[AgentEvent]) -> None:
        self._events = events
        super().__init__(_render(events), media_type="text/event-stream", headers={"cache-control": "no-cache"})

    async def stream_response(self, send: Send) -> None:
        """Overrides Starlette's, which leaves the generator to the garbage collector when the caller goes away."""
        try:
            await super().stream_response(send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()


def create_app(
    answer: Answer,
    *,
    max_turns: int = DEFAULT_MAX_TURNS,
    max_prompt_chars: int = DEFAULT_MAX_PROMPT_CHARS,
) -> BedrockAgentCoreApp:
    """The ASGI application. `answer` makes the events of one turn."""
    turns = Turns(answer, max_turns, max_prompt_chars)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # A turn's model call holds one thread; asyncio's own pool has 6 on two cores, and the 7th caller would wait.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_turns, thread_name_prefix="model"))
        yield

    app = BedrockAgentCoreApp(lifespan=lifespan, middleware=[Middleware(BodyGate)])

    @app.entrypoint
    def invoke(payload: object, context: RequestContext) -> Response:
        request_id = BedrockAgentCoreContext.get_request_id() or str(uuid.uuid4())
        return EventResponse(turns.respond(payload, request_id[:128]))

    @app.ping
    def ping() -> PingStatus:
        return PingStatus.HEALTHY_BUSY if turns.active else PingStatus.HEALTHY

    return app


async def _render(events: AsyncGenerator[AgentEvent]) -> AsyncIterator[bytes]:
    async for event in events:
        yield render_sse(event)
