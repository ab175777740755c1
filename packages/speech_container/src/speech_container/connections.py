"""Connections that end: uvicorn's two protocols, for peers that do not do their part.

uvicorn closes a connection that is idle between two requests. It waits for ever for the rest of a request's head, for
a peer that does not read its answer, or the end of a connection that is over, and it keeps a pong for each ping of a
peer that reads none. Such a peer holds a descriptor, a task, or memory without bound. Here it gets `patience_s`, and
the latest pong: RFC 6455 5.5.3 asks for no more.

Written against uvicorn 0.54, whose hooks these are; `tests/test_connections.py` has each case on a real socket.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

if TYPE_CHECKING:  # what uvicorn's hooks take; Starlette's types are wider
    from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, ASGISendEvent
    from uvicorn._types import Scope as AnyScope

logger = logging.getLogger(__name__)

_TIMED_OUT: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 15\r\n"
    b"connection: close\r\n\r\nRequest Timeout"
)
_NO_HANDSHAKE: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 11\r\n"
    b"connection: close\r\n\r\nBad Request"
)


class PatientConfig(uvicorn.Config):
    """uvicorn's, with these connections. `patience_s`: how long a peer may keep one waiting."""

    def __init__(self, app: ASGIApp, *, patience_s: float, **settings: Any) -> None:
        super().__init__(app, http=HttpConnection, ws=WebSocketConnection, **settings)
        self.patience_s = patience_s


class _Alarm:
    """One timer that is set, set again, or off."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def set(self, after_s: float, ring: Callable[[], None]) -> None:
        self.off()
        self._timer = asyncio.get_running_loop().call_later(after_s, ring)

    def off(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpConnection(HttpToolsProtocol):
    """Waits `patience_s` for a request's head, for room to send more, and for a peer that is to read the last of it."""

    config: PatientConfig

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._alarm = _Alarm()
        self._serving: RequestResponseCycle | None = None
        self._has_heard = False
        self._lost = asyncio.Event()

    # asyncio promises its protocols any transport; uvicorn's asks for one that reads and writes, and so does this.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self._has_heard = True
        super().data_received(data)
        if self.transport.is_closing() and self.transport.get_protocol() is self:
            self._linger()

    def on_headers_complete(self) -> None:
        self._alarm.off()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        self._alarm.off()
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and (self._serving is None or self._serving.response_complete):
            self._await_head()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._linger()

    def connection_lost(self, exc: Exception | None) -> None:
        self._alarm.off()
        super().connection_lost(exc)
        if self._serving is not None and not self._serving.response_complete:  # uvicorn tells the last one that came
            self._serving.disconnected = True
            self._serving.message_event.set()
        self.pipeline.clear()
        self._lost.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._serving = cycle

        async def send_while_open(message: "ASGISendEvent") -> None:
            if self.transport.is_closing():
                return
            try:
                async with asyncio.timeout(self.config.patience_s):
                    await cycle.send(message)
            except TimeoutError:
                logger.warning("the client does not read; connection dropped")
                self.transport.abort()

        async def serve(scope: "AnyScope", receive: "ASGIReceiveCallable", _: "ASGISendCallable") -> None:
            await app(scope, receive, send_while_open)
            if not cycle.response_complete:  # cut off: there is no whole answer to be had
                self.transport.close()
                self._linger()
                await self._lost.wait()

        super()._start_asgi_task(cycle, serve)

    def _await_head(self) -> None:
        if self.transport.is_closing():
            self._linger()
        else:
            self._has_heard = False
            self._alarm.set(self.config.patience_s, self._give_up)

    def _give_up(self) -> None:
        if self._has_heard:
            self.transport.write(_TIMED_OUT)
        self.transport.close()
        self._linger()

    def _linger(self) -> None:
        self._alarm.set(self.config.patience_s, self.transport.abort)


class WebSocketConnection(WebSocketsSansIOProtocol):
    """Waits `patience_s` for a peer that is to read the end of its session, and for none that makes no handshake."""

    config: PatientConfig

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._alarm = _Alarm()
        self._lost = asyncio.Event()
        self._pongs = b""
        self._app, self.app = self.app, self._serve

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.transport.write(b"".join(self.conn.data_to_send()) or _NO_HANDSHAKE)
            self.transport.close()
            self._linger()

    def on_task_complete(self, task: "asyncio.Task[None]") -> None:
        super().on_task_complete(task)
        if not self.disconnected:
            self._linger()

    def connection_lost(self, exc: Exception | None) -> None:
        self._alarm.off()
        super().connection_lost(exc)
        self._lost.set()

    def handle_ping(self) -> None:
        """Answer, or keep the answer until the peer reads again; it takes the place of the one before.

        websockets has answered all the pings of a chunk by the time that uvicorn hears of the first.
        """
        pongs = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(pongs)
        elif pongs:
            self._pongs = pongs

    def resume_writing(self) -> None:
        super().resume_writing()
        pongs, self._pongs = self._pongs, b""
        if pongs and not self.transport.is_closing():
            self.transport.write(pongs)

    def handle_cont(self, event: Frame) -> None:
        """Empty fragments are legal, and a message may have any number of them: none is kept."""
        if event.data or event.fin:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Text that is not UTF-8 fails the connection (RFC 6455 8.1), and is no failure of ours, as uvicorn logs it."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self.conn.fail(CloseCode.INVALID_DATA, "text that is not UTF-8")
                self.handle_parser_exception()
                self._linger()
                return
        super().send_receive_event_to_app()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(WebSocketDisconnect):  # gone before it was let in
            await self._app(scope, receive, send)
        if self.transport.is_closing() and not self.disconnected:
            self._linger()
            await self._lost.wait()  # or uvicorn takes a peer that left during the handshake for a fault of ours

    def _linger(self) -> None:
        self._alarm.set(self.config.patience_s, self.transport.abort)
