"""Sessions over a plain WebSocket: the speech container itself, on a laptop or behind a load balancer of one's own."""

import asyncio
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from speech_protocol import MAX_MESSAGE_BYTES
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI, WebSocketException

from .errors import (
    SpeechAccessDeniedError,
    SpeechConnectError,
    SpeechEndpointNotFoundError,
    SpeechRefusedError,
    SpeechSessionEnded,
    SpeechTlsError,
    SpeechUnreachableError,
    SpeechUsageError,
)
from .transport import Message

SESSION_PATH = "/invocations-bidirectional-stream"  # where SageMaker, and so the container, has the bidirectional route
_MAX_QUEUED_FRAMES = 16  # frames that the library reads ahead of `receive`: 256 KiB of the contract's audio frames
_NORMAL_CLOSURE = 1000


class WebSocketTransport:
    """Connects to `url`, `ws://` or `wss://`; without a path, to the contract's own.

    `ssl_context`: whom to trust for `wss://`, the system's authorities by default. `headers`: sent with the
    handshake. Raises `SpeechUsageError` for another kind of URL.
    """

    def __init__(
        self,
        url: str,
        *,
        ssl_context: ssl.SSLContext | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname:
            raise SpeechUsageError(f"a WebSocket address looks like ws://127.0.0.1:8080; {url!r} came")
        self._url = url if parts.path.strip("/") else parts._replace(path=SESSION_PATH).geturl()
        self._ssl_context = ssl_context
        self._headers = dict(headers or {})

    async def connect(self) -> "WebSocketConnection":
        """Open a WebSocket. The time is the caller's to bound."""
        try:
            socket = await connect(
                self._url,
                ssl=self._ssl_context,
                additional_headers=self._headers,
                compression=None,  # audio does not shrink, and deflating costs time to first audio
                open_timeout=None,
                ping_interval=None,  # a pong would wait behind audio that nobody reads; silence has its own deadline
                max_size=MAX_MESSAGE_BYTES,
                max_queue=_MAX_QUEUED_FRAMES,
            )
        except (OSError, WebSocketException) as error:
            raise self._refusal(error) from error
        return WebSocketConnection(socket)

    def _refusal(self, error: Exception) -> SpeechConnectError:
        where = self._url
        match error:
            case ssl.SSLError():
                return SpeechTlsError(
                    f"no trusted TLS connection to {where}: pass an ssl_context that trusts the server's certificate "
                    f"authority, or use ws:// where the server speaks no TLS"
                )
            case InvalidStatus(response=response) if response.status_code in (401, 403):
                return SpeechAccessDeniedError(
                    f"{where} answered {response.status_code}: check the headers that identify you"
                )
            case InvalidStatus(response=response) if response.status_code == 404:
                return SpeechEndpointNotFoundError(
                    f"{where} answered 404: a speech server has its sessions at {SESSION_PATH}"
                )
            case InvalidStatus(response=response):
                status = response.status_code
                return SpeechRefusedError(
                    str(status),
                    f"{where} answered {status} instead of opening a session; its log says why",
                    retryable=status >= 500,
                )
            case InvalidURI() | InvalidHandshake():
                return SpeechRefusedError(
                    "handshake", f"{where} does not speak WebSocket: is this the speech server's port?"
                )
            case _:
                return SpeechUnreachableError(
                    f"nothing answers at {where}: is the speech server running, and its port right?"
                )


class WebSocketConnection:
    """One WebSocket. The library joins fragments and answers pings; it stops reading while nobody receives."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        """Send one text frame."""
        try:
            await self._socket.send(text)
        except ConnectionClosed as error:
            raise _ended(error) from error

    async def receive(self) -> Message | None:
        """The next message, or None after a normal closure."""
        try:
            data = await self._socket.recv()
        except ConnectionClosed as error:
            if error.rcvd is not None and error.rcvd.code == _NORMAL_CLOSURE:
                return None
            raise _ended(error) from error
        return Message(data.encode(), is_text=True) if isinstance(data, str) else Message(data)

    async def close(self, grace_s: float) -> None:
        """Shake hands for at most `grace_s`, then drop the connection."""
        try:
            async with asyncio.timeout(grace_s):
                await self._socket.close()
        except TimeoutError:
            pass  # the peer had its time
        finally:
            self._socket.transport.abort()
        await self._socket.wait_closed()


def _ended(error: ConnectionClosed) -> SpeechSessionEnded:
    code = error.rcvd.code if error.rcvd is not None else 1006  # RFC 6455: no close frame came
    return SpeechSessionEnded(
        f"the speech server closed the connection (WebSocket code {code}); "
        f"open a new session and send again what was not answered",
        str(code),
    )
