"""The HTTP/2 client under the SageMaker SDK: one stream both ways, a private CA, and back-pressure.

The SDK's own transport (smithy-http 0.6 AWSCRTHTTPClient) has no TLS setting, tells HTTP/2 to take in everything at
once, never learns of a connection that dies before its response, and loses connections and streams when a call is
cancelled. This one offers the SDK the same interface on the same C library (awscrt 0.32, its callback API), so that:

- the stream's flow-control window opens only by what has been read: whoever does not read stops the sender;
- awscrt's futures are never cancelled (its threads would complete them and fail); waits on our side may be, at any
  point;
- `close` stops the body's writer, frees publishers that wait for room, and closes the connection, leaving no task.

awscrt calls back on its own threads; every call is passed on to the event loop, in order, and only there is state
touched.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from io import BytesIO
from typing import Any, Self

# awscrt ships no type information
from awscrt import exceptions as crt_exceptions
from awscrt import http as crt_http
from awscrt import io as crt_io
from smithy_core.aio.types import AsyncBytesProvider
from smithy_core.interfaces import URI
from smithy_http import Field, Fields
from smithy_http.aio.interfaces import HTTPRequest, HTTPResponse
from smithy_http.interfaces import HTTPRequestConfiguration

from .certificates import check_certificate

CrtError = crt_exceptions.AwsCrtError

WINDOW_BYTES = (
    256 * 1024
)  # about 5 s of 24 kHz PCM on its way: enough for any round trip, and all that a stalled reader holds
_HTTPS_PORT = 443
_SLOW_S = 1.0  # a connection that takes longer may wait for the report of a refused certificate
_SHUTDOWN_S = 1.0  # closing a connection is local work of milliseconds; this only bounds a fault


class TlsTrust:
    """Whom to believe: the system's authorities, or only those in `ca_pem`. Takes 10 ms to make, and is free to share.

    Raises `ValueError` where `ca_pem` holds no certificates.
    """

    def __init__(self, ca_pem: bytes | None = None) -> None:
        options = crt_io.TlsContextOptions()
        if ca_pem is not None:
            options.override_default_trust_store(ca_pem)
        try:
            self.context = crt_io.ClientTlsContext(options)
        except (RuntimeError, CrtError) as error:
            raise ValueError("these certificate authorities cannot be used; expected certificates in PEM") from error
        self.ca_pem = ca_pem


class DuplexHttp2Client:
    """An SDK transport for one duplex call at a time, over TLS with HTTP/2 only.

    `send` raises what awscrt reports (`CrtError`, or a built-in error) and `ssl.SSLError` for a certificate that is
    not trusted; the caller maps it.
    """

    SUPPORTS_DUPLEX_STREAMING = True  # asked for by the SDK before it opens an event stream both ways
    TIMEOUT_EXCEPTIONS: tuple[type[Exception], ...] = ()  # deadlines are the session's

    def __init__(self, trust: TlsTrust, *, window_bytes: int = WINDOW_BYTES) -> None:
        self._trust = trust
        self._window_bytes = window_bytes
        self._connection: Any = None
        self._body: Any = None
        self._writer: asyncio.Task[None] | None = None
        self._closed = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Configurations are copied by the SDK; the connection they lead to is one."""
        return self

    async def send(
        self,
        request: HTTPRequest,
        *,
        request_config: HTTPRequestConfiguration | None = None,
    ) -> HTTPResponse:
        """Start the request, write its body in the background, and return once the response's headers are here."""
        if self._closed or self._connection is not None:
            raise RuntimeError("a DuplexHttp2Client carries one call")
        self._body = request.body
        self._connection = await self._connect(request.destination)
        stream = _Stream(self._connection, _crt_request(request))
        self._writer = asyncio.create_task(self._write(stream, request.body))
        status, headers = await stream.response()
        return _Response(status, headers, stream)

    async def close(self) -> None:
        """Drop the connection; what is not yet written is lost.

        A connection that is still being made cannot be stopped; it is dropped once its handshake has ended, which
        awscrt allows 10 s.
        """
        self._closed = True
        if isinstance(self._body, AsyncBytesProvider):
            await self._body.close(flush=False)
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait({self._writer})
        if self._connection is not None:
            shutdown = _in_loop(self._connection.close())
            await asyncio.wait({shutdown}, timeout=_SHUTDOWN_S)
            if shutdown.done():
                shutdown.exception()  # why it had to shut down: known to whoever was reading

    async def _connect(self, uri: URI) -> Any:
        if uri.scheme != "https":
            raise ValueError(f"the endpoint's address begins with https://; {uri.scheme}:// came")
        port = uri.port or _HTTPS_PORT
        options = self._trust.context.new_connection_options()
        options.set_server_name(uri.host)
        options.set_alpn_list(["h2"])
        opening = _in_loop(
            crt_http.Http2ClientConnection.new(
                uri.host,
                port,
                socket_options=crt_io.SocketOptions(),
                tls_connection_options=options,
                manual_window_management=True,
                initial_window_size=self._window_bytes,
            ),
            if_nobody_waits=lambda connection: connection.close(),
        )
        try:
            await asyncio.wait({opening}, timeout=_SLOW_S)
            if not opening.done():
                await check_certificate(uri.host, port, self._trust.ca_pem)
            return await opening
        except BaseException:
            if not opening.done():
                opening.cancel()
            elif not opening.cancelled() and opening.exception() is None:
                opening.result().close()
            raise

    async def _write(self, stream: "_Stream", body: Any) -> None:
        """Write what the SDK puts into the request's body, each chunk once the server has room for it."""
        try:
            async for chunk in body:
                await stream.write(bytes(chunk))
            await stream.write(None)
        except (OSError, RuntimeError, CrtError):
            # the stream is over; its reader knows why, and publishers must not wait for room any more
            await body.close(flush=False)


class _Stream:
    """One request and its response. All methods run on the event loop."""

    def __init__(self, connection: Any, request: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self._head: tuple[int, list[tuple[str, str]]] | None = None
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._changed = asyncio.Event()
        self._stream = connection.request(
            request,
            on_response=lambda http_stream, status_code, headers, **_: self._post(self._respond, status_code, headers),
            on_body=lambda http_stream, chunk, **_: self._post(self._receive, bytes(chunk)),
            manual_write=True,
        )
        self._stream.remote_end_stream_future.add_done_callback(
            lambda future: self._post(self._end, future.exception())
        )
        self._stream.completion_future.add_done_callback(lambda future: self._post(self._complete, future.exception()))
        self._stream.activate()

    async def response(self) -> tuple[int, list[tuple[str, str]]]:
        """Status and headers."""
        while self._head is None:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise ConnectionResetError("the stream ended without a response")
            await self._wait()
        return self._head

    async def read(self) -> bytes:
        """The next piece of the body, b"" at its end. Taking it makes room for as much on the wire."""
        while not self._chunks:
            if self._ended:
                return b""
            if self._error is not None:
                raise self._error
            await self._wait()
        chunk = self._chunks.popleft()
        if not self._ended:
            self._stream.update_window(len(chunk))
        return chunk

    async def write(self, chunk: bytes | None) -> None:
        """Write a piece of the request's body, or end it with None; returns when the server has taken it."""
        written = _in_loop(self._stream.write_data(None if chunk is None else BytesIO(chunk), end_stream=chunk is None))
        try:
            await written
        except asyncio.CancelledError:
            if not written.cancelled():
                written.exception()  # it failed while we were stopped anyway
            raise

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _post(self, call: Callable[..., None], *args: Any) -> None:
        """Called on awscrt's threads, possibly after the event loop has closed: then nobody is interested."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *args)

    def _respond(self, status: int, headers: list[tuple[str, str]]) -> None:
        self._head = (status, headers)
        self._changed.set()

    def _receive(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._changed.set()

    def _end(self, error: BaseException | None) -> None:
        if error is None:  # otherwise the stream's completion says better what happened
            self._ended = True
            self._changed.set()

    def _complete(self, error: BaseException | None) -> None:
        if not self._ended:
            self._error = error or ConnectionResetError("the stream was cut off")
        self._changed.set()


class _Body:
    """The response's body, as the SDK iterates it."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._stream.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk


class _Response(HTTPResponse):
    """What the SDK sees of the response."""

    def __init__(self, status: int, headers: Iterable[tuple[str, str]], stream: _Stream) -> None:
        self._status = status
        self._fields = Fields()
        for name, value in headers:
            if name in self._fields:
                self._fields[name].add(value)
            else:
                self._fields.set_field(Field(name=name, values=[value]))
        self._body = _Body(stream)

    @property
    def status(self) -> int:
        return self._status

    @property
    def fields(self) -> Fields:
        return self._fields

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._body

    @property
    def reason(self) -> str | None:
        return None  # HTTP/2 has none


def _crt_request(request: HTTPRequest) -> Any:
    uri = request.destination
    headers = [(field.name, value) for field in request.fields for value in field.values]
    if "host" not in request.fields:
        headers.append(("host", uri.netloc))
    query = f"?{uri.query}" if uri.query is not None else ""
    return crt_http.HttpRequest(request.method, f"{uri.path or '/'}{query}", crt_http.HttpHeaders(headers))


def _in_loop(future: "Future[Any]", if_nobody_waits: Callable[[Any], object] | None = None) -> "asyncio.Future[Any]":
    """A future of the event loop that follows awscrt's, and can be cancelled without it.

    `if_nobody_waits` gets a result that comes after that.
    """
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[Any] = loop.create_future()

    def deliver() -> None:
        error = future.exception()
        if waiter.done():
            if error is None and if_nobody_waits is not None:
                if_nobody_waits(future.result())
        elif error is not None:
            waiter.set_exception(error)
        else:
            waiter.set_result(future.result())

    def hand_over(_: "Future[Any]") -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has closed: nobody is interested
            loop.call_soon_threadsafe(deliver)

    future.add_done_callback(hand_over)
    return waiter
