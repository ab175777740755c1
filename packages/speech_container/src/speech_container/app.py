"""The ASGI application: routes, and nothing else."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from speech_protocol import ErrorCode
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from .invocations import Invocations
from .service import Service, State
from .websocket import Conversation

logger = logging.getLogger(__name__)


def build_app(service: Service, loaded: Callable[[BaseException | None], None] | None = None) -> Starlette:
    """The application around `service`, which is loaded in the background once the server has started.

    `loaded` is told when that has ended, with what went wrong if anything did.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(service.load(), name="loading")
        if loaded is not None:
            loading.add_done_callback(lambda task: loaded(None if task.cancelled() else task.exception()))
        yield
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        await service.stop()

    async def ping(_: Request) -> Response:
        """Healthy only when the weights are verified, a sentence has been spoken, and requests are taken."""
        is_ready = service.state is State.READY
        return JSONResponse({"status": service.state.name.lower()}, status_code=200 if is_ready else 503)

    async def voices(_: Request) -> Response:
        return JSONResponse({"voices": list(service.capabilities().voices)})

    async def session(websocket: WebSocket) -> None:
        await Conversation(websocket, service).run()

    return Starlette(
        routes=[
            Route("/ping", ping),
            Route("/invocations", Invocations(service), methods=["POST"]),
            Route("/v1/audio/voices", voices),
            WebSocketRoute("/invocations-bidirectional-stream", session),
        ],
        exception_handlers={Exception: _failed},
        lifespan=lifespan,
    )


async def _failed(_: Request, __: Exception) -> Response:
    """A fault of ours. The server logs where it happened; the client learns nothing but that."""
    code = ErrorCode.SYNTHESIS_FAILED
    error = {"code": code.value, "message": "the server failed on this request", "request_id": None}
    return JSONResponse({"error": error}, status_code=code.http_status)
