"""The ASGI application: routes, and nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from speech_protocol import ErrorCode, render_event
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from .catalogue import Catalogue
from .dialect import InvocationsDialect
from .errors import Refusal
from .invocations import Invocations
from .metrics import CONTENT_TYPE
from .openai_dialect import OpenAiDialect
from .service import Service, State
from .start_failure import code_of
from .websocket import Conversation

_TRY_AGAIN_LATER: Final = 1013


def build_app(service: Service, loaded: Callable[[BaseException | None], None] | None = None) -> Starlette:
    """The application around `service`, which is loaded in the background once the server has started.

    `loaded` is told when that has ended, with what went wrong if anything did.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(service.load(), name="loading")
        if loaded is not None:
            loading.add_done_callback(lambda task: loaded(None if task.cancelled() else task.exception()))
        publishing = asyncio.create_task(service.telemetry.publish(), name="publishing")
        yield
        loading.cancel()
        publishing.cancel()
        await asyncio.gather(loading, publishing, return_exceptions=True)
        await service.stop()

    async def ping(_: Request) -> Response:
        """Healthy only when the weights are verified, a sentence has been spoken, and requests are taken."""
        is_ready = service.state is State.READY
        body = {"status": service.state.name.lower()}
        if service.state is State.FAILED and service.failure is not None:
            body["code"] = code_of(service.failure)
        return JSONResponse(body, status_code=200 if is_ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(service.telemetry.metrics.render(), media_type=CONTENT_TYPE)

    async def session(websocket: WebSocket) -> None:
        try:
            with service.session("websocket"):
                await Conversation(websocket, service).run()
        except Refusal as refusal:
            await _turn_away(websocket, service, refusal)

    catalogue = Catalogue(service)

    return Starlette(
        routes=[
            Route("/ping", ping),
            Route("/metrics", metrics),
            Route("/invocations", Invocations(service, InvocationsDialect()), methods=["POST"]),
            Route("/v1/audio/speech", Invocations(service, OpenAiDialect()), methods=["POST"]),
            Route("/v1/audio/voices", catalogue.voices),
            Route("/v1/models", catalogue.models),
            Route("/v1/models/{name}", catalogue.model),
            WebSocketRoute("/invocations-bidirectional-stream", session),
        ],
        exception_handlers={Exception: _failed},
        lifespan=lifespan,
    )


async def _turn_away(websocket: WebSocket, service: Service, refusal: Refusal) -> None:
    """A client that there is no room for is told so in the words it knows, and not by a failed handshake."""
    event = refusal.event(None)
    service.telemetry.observer("websocket").sent(event)
    await websocket.accept()
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it may be gone already
        await websocket.send_text(render_event(event))
        await websocket.close(_TRY_AGAIN_LATER)


async def _failed(_: Request, __: Exception) -> Response:
    """A fault of ours. The server logs where it happened; the client learns nothing but that."""
    code = ErrorCode.SYNTHESIS_FAILED
    error = {"code": code.value, "message": "the server failed on this request", "request_id": None}
    return JSONResponse({"error": error}, status_code=code.http_status)
