"""HTTP/2 over TLS for one handler coroutine a stream, with flow-control credit in the handler's hands.

hyper-h2 keeps the protocol; here are only the sockets and the waiting. Two rules keep memory bounded in both
directions: what a caller sends is credited back (WINDOW_UPDATE) only when the handler says it has passed it on, and
what a handler sends waits for the caller's window and for the socket. The connection's window is as large as all its
streams' windows together, so one stream that is not read cannot starve its neighbours."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from local_cloud.errors import CallerGone

log = logging.getLogger(__name__)

STREAM_WINDOW_BYTES = 65_535
"""RFC 9113's initial window; what one stream may have sent that has not been passed on."""
MAX_STREAMS = 64
"""Streams at once on one connection; with the window above this bounds a connection at 4 MiB of unforwarded data."""
WRITE_BUFFER_BYTES = 64 * 1024
CLOSE_TIMEOUT_S = 2.0

Headers = Sequence[tuple[str, str]]
Handler = Callable[["Http2Stream"], Awaitable[None]]


@dataclass(frozen=True)
class Received:
    """Bytes of a request body, and the flow-control credit (padding included) that they hold back."""

    data: bytes
    credit_bytes: int


@dataclass(eq=False)
class Http2Stream:
    """One request and its answer, as its handler sees it. Methods raise `CallerGone` once the caller has left.

    `received_bytes` and `acknowledged_bytes` count credit; their difference never exceeds `STREAM_WINDOW_BYTES`.
    """

    connection: "Http2Connection"
    stream_id: int
    headers: Headers
    received_bytes: int = 0
    acknowledged_bytes: int = 0
    gone: bool = False
    answered: bool = False
    finished: bool = False
    input_ended: bool = False
    _pending: bytearray = field(default_factory=bytearray)
    _pending_credit_bytes: int = 0
    _input: asyncio.Event = field(default_factory=asyncio.Event)
    room: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Received | None:
        """Wait for the next bytes of the request body; None when it has ended."""
        while not self._pending_credit_bytes:
            self.check()
            if self.input_ended:
                return None
            self._input.clear()
            await self._input.wait()
        taken = Received(bytes(self._pending), self._pending_credit_bytes)
        self._pending.clear()
        self._pending_credit_bytes = 0
        return taken

    def acknowledge(self, credit_bytes: int) -> None:
        """Let the caller send as many bytes again: call it when what was received has been passed on."""
        self.acknowledged_bytes += credit_bytes
        self.connection.acknowledge(self, credit_bytes)

    async def send_headers(self, status: int, headers: Headers) -> None:
        """Answer with a status and headers, at once."""
        self.check()
        self.answered = True
        self.connection.send_headers(self, [(":status", str(status)), *headers])

    async def send_data(self, data: bytes) -> None:
        """Send a piece of the answer's body; returns when the caller's window and the socket have taken all of it."""
        rest = memoryview(data)
        while rest:
            self.check()
            size = self.connection.room_for(self, len(rest))
            if size > 0:
                self.connection.send_data(self, bytes(rest[:size]))
                rest = rest[size:]
                await asyncio.sleep(0)  # with a wide window nobody would else notice that the caller left
            else:
                self.room.clear()
                await self.room.wait()

    async def end(self) -> None:
        """End the answer. A caller that is still sending is told that nobody listens (RST_STREAM, NO_ERROR)."""
        self.check()
        self.finished = True
        self.connection.end_stream(self)

    def reset(self) -> None:
        """Give the stream up with INTERNAL_ERROR."""
        if not self.gone and not self.finished:
            self.finished = True
            self.connection.reset_stream(self)

    def check(self) -> None:
        """Raise `CallerGone` once the caller has reset the stream or lost its connection."""
        if self.gone:
            raise CallerGone("the caller reset the stream or closed its connection")

    # What the connection tells the stream.

    def data_came(self, data: bytes, credit_bytes: int) -> None:
        self.received_bytes += credit_bytes
        self._pending += data
        self._pending_credit_bytes += credit_bytes
        self._input.set()

    def input_came_to_its_end(self) -> None:
        self.input_ended = True
        self._input.set()

    def caller_left(self) -> None:
        self.gone = True
        self._input.set()
        self.room.set()


class Http2Connection(asyncio.Protocol):
    """One TLS connection: events of hyper-h2 on one side, streams with a task each on the other."""

    def __init__(self, handler: Handler, connections: "set[Http2Connection]", is_serving: Callable[[], bool]) -> None:
        self._handler = handler
        self._connections = connections
        self._is_serving = is_serving
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self._streams: dict[int, Http2Stream] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self.closed = asyncio.Event()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's TLS transport, narrowed for mypy
        self._transport = transport
        if not self._is_serving():
            transport.abort()  # Its TLS handshake was under way when the server closed.
            return
        self._connections.add(self)
        if transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            log.warning("a caller did not negotiate HTTP/2 by ALPN; closing its connection")
            transport.close()
            return
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._h2.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
                h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
                h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: 64 * 1024,
            },
        )
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(STREAM_WINDOW_BYTES * (MAX_STREAMS - 1))
        self._flush()

    def data_received(self, data: bytes) -> None:
        try:
            events = self._h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            log.warning("closing a connection that broke the HTTP/2 protocol: %s", type(error).__name__)
            self._flush()
            self._close_transport()
            return
        for event in events:
            self._take(event)
        self._flush()
        if not self._writable and self._transport is not None:
            # A caller that does not read its answers (to PINGs, say) is not read either.
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        for stream_id in list(self._streams):
            self._drop(stream_id)
        self.closed.set()

    # What streams ask for.

    def room_for(self, stream: Http2Stream, wanted_bytes: int) -> int:
        """How many of `wanted_bytes` can be sent now."""
        if not self._writable:
            return 0
        window = self._h2.local_flow_control_window(stream.stream_id)
        return min(window, self._h2.max_outbound_frame_size, wanted_bytes)

    def send_headers(self, stream: Http2Stream, headers: Headers) -> None:
        with self._caller_there():
            self._h2.send_headers(stream.stream_id, headers)
        self._flush()

    def send_data(self, stream: Http2Stream, data: bytes) -> None:
        with self._caller_there():
            self._h2.send_data(stream.stream_id, data)
        self._flush()

    def end_stream(self, stream: Http2Stream) -> None:
        with self._caller_there():
            self._h2.end_stream(stream.stream_id)
        if not stream.input_ended:
            self._reset(stream, h2.errors.ErrorCodes.NO_ERROR)
        self._flush()

    def reset_stream(self, stream: Http2Stream) -> None:
        self._reset(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        self._flush()

    @contextlib.contextmanager
    def _caller_there(self) -> Iterator[None]:
        """A caller that has said GOAWAY is gone a moment before its streams hear of it."""
        try:
            yield
        except h2.exceptions.ProtocolError as error:
            raise CallerGone("the caller is closing its connection") from error

    def _reset(self, stream: Http2Stream, code: h2.errors.ErrorCodes) -> None:
        """hyper-h2 raises for a stream that the caller has closed meanwhile, one kind or another; all are as wanted."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.reset_stream(stream.stream_id, code)

    def acknowledge(self, stream: Http2Stream, credit_bytes: int) -> None:
        # hyper-h2 credits the connection even where the stream is closed already.
        self._h2.acknowledge_received_data(credit_bytes, stream.stream_id)
        self._flush()

    async def close(self) -> None:
        """End every stream's task, say GOAWAY, and be gone within `CLOSE_TIMEOUT_S`."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_TIMEOUT_S)
        if self._transport is None or self.closed.is_set():
            return
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.close_connection()
        self._flush()
        self._close_transport()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.closed.wait()
        if not self.closed.is_set():
            self._transport.abort()

    # Inside

    def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived(stream_id=int(stream_id), headers=headers):
                stream = Http2Stream(self, stream_id, [(str(name), str(value)) for name, value in headers or ()])
                self._streams[stream_id] = stream
                self._tasks[stream_id] = asyncio.create_task(self._serve(stream), name=f"h2 stream {stream_id}")
            case h2.events.DataReceived(stream_id=int(stream_id), flow_controlled_length=int(credit)) if credit:
                if stream_id in self._streams:
                    self._streams[stream_id].data_came(event.data or b"", credit)
                else:
                    self._h2.acknowledge_received_data(credit, stream_id)
            case h2.events.StreamEnded(stream_id=int(stream_id)) if stream_id in self._streams:
                self._streams[stream_id].input_came_to_its_end()
            case h2.events.StreamReset(stream_id=int(stream_id)):
                self._drop(stream_id)
            case h2.events.WindowUpdated() | h2.events.RemoteSettingsChanged():
                self._wake()
            case h2.events.ConnectionTerminated():
                self._close_transport()
            case _:
                pass

    async def _serve(self, stream: Http2Stream) -> None:
        try:
            await self._handler(stream)
        except CallerGone:
            pass
        except Exception:  # a fault of one stream must not end the connection of the others
            log.exception("the handler of an HTTP/2 stream failed")
            stream.reset()
        finally:
            self._streams.pop(stream.stream_id, None)
            self._tasks.pop(stream.stream_id, None)
            self._release(stream)

    def _release(self, stream: Http2Stream) -> None:
        """Credit back to the connection what the stream leaves unread, or its neighbours would miss it for ever."""
        left = stream.received_bytes - stream.acknowledged_bytes
        if left and not self.closed.is_set():
            stream.acknowledge(left)

    def _drop(self, stream_id: int) -> None:
        if stream := self._streams.get(stream_id):
            stream.caller_left()
        if task := self._tasks.get(stream_id):
            task.cancel()

    def _wake(self) -> None:
        for stream in self._streams.values():
            stream.room.set()

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _close_transport(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Http2Server:
    """Listens on a bound socket; `async with` is its life."""

    def __init__(self, handler: Handler, sock: socket.socket, context: ssl.SSLContext) -> None:
        self._handler = handler
        self._socket = sock
        self._context = context
        self._connections: set[Http2Connection] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Http2Connection(self._handler, self._connections, self._is_serving),
            sock=self._socket,
            ssl=self._context,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is None:
            return
        self._server.close()
        await asyncio.gather(*(connection.close() for connection in list(self._connections)))

    def _is_serving(self) -> bool:
        return self._server is None or self._server.is_serving()
