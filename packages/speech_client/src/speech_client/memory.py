"""A transport without a network: a speech server written as a coroutine, for tests of whatever uses a session.

    async def serve(peer: MemoryPeer) -> None:
        async for message in peer.messages():
            match message:
                case Hello():
                    await peer.send_event(capabilities)
                case Synthesize(text=text, request_id=request_id): ...

    async with SpeechSession.connect(MemoryTransport(serve)) as session: ...

Both directions hold at most `capacity` messages, so whoever does not read slows the other down, as on a wire.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from speech_protocol import ClientMessage, KnownEvent, MessageError, parse_message, render_event

from .channel import Channel
from .errors import SpeechError, SpeechProtocolError, SpeechSessionEnded
from .transport import Message


class MemoryPeer:
    """The server's end of one connection."""

    def __init__(self, capacity: int) -> None:
        self.inbound: Channel[str | None] = Channel(capacity)
        self.outbound: Channel[Message | SpeechError | None] = Channel(capacity)

    async def receive(self) -> str | None:
        """The client's next message as it was sent, or None once the client has closed its side."""
        return await self.inbound.get()

    async def messages(self) -> AsyncIterator[ClientMessage]:
        """The client's messages until it closes its side. Raises `SpeechProtocolError` at a bad one."""
        while (text := await self.receive()) is not None:
            try:
                yield parse_message(text)
            except MessageError as error:
                raise SpeechProtocolError(f"the client sent a bad message: {error}") from error

    async def send(self, data: bytes, *, is_text: bool = False, is_final: bool = True) -> None:
        """Send one message or fragment; waits while the client reads nothing."""
        await self.outbound.put(Message(data, is_text, is_final))

    async def send_event(self, event: KnownEvent) -> None:
        """Send a control event as text."""
        await self.send(render_event(event).encode(), is_text=True)

    async def fail(self, error: SpeechError) -> None:
        """End the stream with `error`, as a broken connection would."""
        await self.outbound.put(error)


class MemoryTransport:
    """Runs `serve` for every connection. The stream ends when it returns; what it raises, the session's end raises."""

    def __init__(self, serve: Callable[[MemoryPeer], Awaitable[None]], *, capacity: int = 4) -> None:
        self._serve = serve
        self._capacity = capacity
        self.open_connections = 0
        """How many connections are open now: 0 once every session has ended."""

    async def connect(self) -> "MemoryConnection":
        """Open a connection to a server of its own."""
        self.open_connections += 1
        return MemoryConnection(self, MemoryPeer(self._capacity), self._serve)


class MemoryConnection:
    """The client's end."""

    def __init__(
        self,
        transport: MemoryTransport,
        peer: MemoryPeer,
        serve: Callable[[MemoryPeer], Awaitable[None]],
    ) -> None:
        self._transport = transport
        self._peer = peer
        self._server = asyncio.create_task(self._run(serve))
        self._ended = asyncio.Event()
        self._closed = False

    async def send(self, text: str) -> None:
        """Hand a message to the server."""
        await self._peer.inbound.put(text)

    async def receive(self) -> Message | None:
        """The server's next message."""
        message = await self._peer.outbound.get()
        if isinstance(message, Message):
            return message
        self._ended.set()
        if message is None:
            return None
        raise message

    async def close(self, grace_s: float) -> None:
        """Close our side, let the server end for `grace_s`, then stop it."""
        if self._closed:
            return
        self._closed = True
        self._peer.inbound.put_now(None)
        try:
            async with asyncio.timeout(grace_s):
                await self._ended.wait()
        except TimeoutError:
            pass  # it had its time
        finally:
            self._transport.open_connections -= 1
            self._peer.outbound.put_now(None)
            self._server.cancel()
            self._peer.inbound.close(SpeechSessionEnded("the connection is closed"))
        await asyncio.wait({self._server})
        if not self._server.cancelled() and (error := self._server.exception()) is not None:
            raise error

    async def _run(self, serve: Callable[[MemoryPeer], Awaitable[None]]) -> None:
        try:
            await serve(self._peer)
        finally:
            self._peer.outbound.put_now(None)
