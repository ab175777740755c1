"""The gateway's WebSocket to a model container, frame by frame.

SageMaker maps one PayloadPart to one WebSocket frame and merges nothing, so the fragments of a message must keep their
boundaries, even inside a multi-byte character, and a text frame must stay one. The usual client APIs decode and
join; hence websockets' sans-I/O protocol over an asyncio stream. Reading happens on demand: a gateway that cannot
pass a frame on does not read the next, and the container feels it through TCP."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, Self
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidState, ProtocolError
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from local_cloud.errors import ContainerClosed, ContainerFailed

READ_BYTES = 64 * 1024


@dataclass(frozen=True)
class Fragment:
    """One WebSocket data frame. `text` tells what kind of message it belongs to, `final` whether it ends that
    message.
    """

    data: bytes
    text: bool
    final: bool


@dataclass(frozen=True)
class Closing:
    """How the container's socket ended: its close code (1006 where it sent none) and its reason."""

    code: int
    reason: str


class Container(Protocol):
    """What a gateway needs of a container's socket."""

    async def send(self, fragment: Fragment) -> None:
        """Pass a frame on; returns when the container has room for it. Raises `ContainerClosed`."""

    def fragments(self) -> AsyncIterator[Fragment]:
        """The container's frames as they come; ends when its socket has closed. Iterate it once."""
        ...

    def closing(self) -> Closing:
        """How the socket closed, once `fragments` has ended."""
        ...

    def start_close(self, code: int) -> None:
        """Send a close frame; the container's answer ends `fragments`."""

    async def keep_alive(self, interval_s: float, unanswered_limit: int) -> None:
        """Ping every `interval_s` seconds; returns when `unanswered_limit` pings in a row went unanswered."""

    async def end(self, code: int) -> None:
        """Close the socket now, waiting for the container no longer than the close timeout."""


class ContainerSocket:
    """A `Container` over TCP. Make one with `dial`."""

    def __init__(
        self,
        protocol: ClientProtocol,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        close_timeout_s: float,
    ) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._close_timeout_s = close_timeout_s
        self._sending_part_of = False
        self._awaiting_container = False
        self._unanswered_pings = 0

    @classmethod
    async def dial(cls, url: str, *, accept_timeout_s: float, max_fragment_bytes: int, close_timeout_s: float) -> Self:
        """Open a WebSocket to `url` (``http://`` or ``ws://``), accepted within `accept_timeout_s` seconds.

        Raises:
            ContainerFailed: nobody listens, the container is too slow, or it answers with something else.
        """
        parts = urlsplit(url)
        address = parse_uri(parts._replace(scheme="ws").geturl())
        protocol = ClientProtocol(address, max_size=(None, max_fragment_bytes))
        writer: asyncio.StreamWriter | None = None
        accepted = False
        try:
            async with asyncio.timeout(accept_timeout_s):
                reader, writer = await asyncio.open_connection(address.host, address.port, limit=READ_BYTES)
                opened = cls(protocol, reader, writer, close_timeout_s)
                await opened._shake_hands()
                accepted = True
                return opened
        except TimeoutError as error:
            raise ContainerFailed(
                f"The model container did not accept the WebSocket within {accept_timeout_s * 1000:.0f} ms."
            ) from error
        except OSError as error:
            raise ContainerFailed("The model container does not accept connections.") from error
        finally:
            if writer is not None and not accepted:
                writer.transport.abort()

    async def send(self, fragment: Fragment) -> None:
        protocol = self._protocol
        try:
            if self._sending_part_of:
                protocol.send_continuation(fragment.data, fin=fragment.final)
            elif fragment.text:
                protocol.send_text(fragment.data, fin=fragment.final)
            else:
                protocol.send_binary(fragment.data, fin=fragment.final)
        except (InvalidState, ProtocolError) as error:
            raise ContainerClosed("The model container closed its WebSocket.") from error
        self._sending_part_of = not fragment.final
        self._flush()
        try:
            await self._writer.drain()
        except OSError as error:
            raise ContainerClosed("The model container dropped its connection.") from error

    async def fragments(self) -> AsyncIterator[Fragment]:
        text = False
        while True:
            for event in self._protocol.events_received():
                if not isinstance(event, Frame):
                    continue  # The answer to the opening handshake.
                if event.opcode is Opcode.PONG:
                    self._unanswered_pings = 0
                elif event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                    text = event.opcode is Opcode.TEXT if event.opcode is not Opcode.CONT else text
                    yield Fragment(bytes(event.data), text, event.fin)
            if self._ended:
                return
            await self._receive()

    def closing(self) -> Closing:
        received = self._protocol.close_rcvd
        if received is not None:
            return Closing(int(received.code), received.reason)
        return Closing(int(CloseCode.ABNORMAL_CLOSURE), "")

    def start_close(self, code: int) -> None:
        with contextlib.suppress(InvalidState):
            self._protocol.send_close(code)
        self._flush()

    async def keep_alive(self, interval_s: float, unanswered_limit: int) -> None:
        for number in itertools.count():
            await asyncio.sleep(interval_s)
            if not self._awaiting_container:
                continue  # The caller is the slow one: pongs may be waiting unread behind the container's data.
            if self._unanswered_pings >= unanswered_limit:
                return
            with contextlib.suppress(InvalidState):
                self._protocol.send_ping(number.to_bytes(8, "big"))
                self._unanswered_pings += 1
            self._flush()

    async def end(self, code: int) -> None:
        if self._protocol.state is State.OPEN:
            self.start_close(code)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._close_timeout_s):
                    while not self._ended:
                        await self._receive()
        finally:
            transport = self._writer.transport
            if transport.get_write_buffer_size():
                transport.abort()  # The container does not even take the close frame.
            else:
                transport.close()

    @property
    def _ended(self) -> bool:
        """The container has closed, by a frame or by its connection; nothing can follow."""
        return self._protocol.state is State.CLOSED or self._protocol.close_rcvd is not None

    async def _shake_hands(self) -> None:
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            await self._receive()
        if self._protocol.handshake_exc is not None:
            raise ContainerFailed("The model container refused the WebSocket.") from self._protocol.handshake_exc

    async def _receive(self) -> None:
        """Read once and let the protocol answer. A container that is closing has the close timeout for it."""
        self._awaiting_container = True
        closing = self._protocol.state is State.CLOSING
        try:
            async with asyncio.timeout(self._close_timeout_s if closing else None):
                data = await self._reader.read(READ_BYTES)
        except TimeoutError:
            self._writer.transport.abort()
            data = b""
        except OSError:
            data = b""
        finally:
            self._awaiting_container = False
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if self._writer.is_closing():
                return
            if data:
                self._writer.write(data)
            elif self._writer.can_write_eof():
                self._writer.write_eof()
