"""Sessions with a scripted server over the in-memory transport, and what is heard of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from speech_client import (
    STAND_IN_CAPABILITIES,
    Audio,
    Deadlines,
    MemoryPeer,
    MemoryTransport,
    Peer,
    RequestEvent,
    SpeechEvent,
    SpeechSession,
    speak_out,
    stand_in,
)
from speech_client.stand_in import Answer
from speech_protocol import Synthesize

SOON = 0.05  # a deadline that a test wants to see missed
SHORT = Deadlines(connect_s=5, first_audio_s=5, silence_s=5, close_s=SOON)


def heard(events: list[SpeechEvent] | list[RequestEvent], request_id: str | None = None) -> str:
    """The text that the audio of `events` spells."""
    pieces = []
    for event in events:
        if isinstance(event, RequestEvent):
            if isinstance(event.event, Audio) and event.request_id == request_id:
                pieces.append(event.event.data)
        elif isinstance(event, Audio):
            pieces.append(event.data)
    return b"".join(pieces).decode("utf-16-le")


async def listen(session: SpeechSession, text: str) -> list[SpeechEvent]:
    """Speak `text` to its end."""
    return [event async for event in session.speak(text)]


async def rest(session: SpeechSession) -> list[RequestEvent]:
    """Every event up to the end that `finish` promised."""
    return [event async for event in session.events()]


async def rest_after_finish(session: SpeechSession) -> list[RequestEvent]:
    """Say that nothing more will be sent, and read what is owed."""
    session.finish()
    return await rest(session)


async def pour[T](source: AsyncIterator[T], into: list[T]) -> None:
    """Keep what comes, also when it ends in an exception."""
    async for item in source:
        into.append(item)  # noqa: PERF401 - a comprehension would lose what came before an exception


async def until(holds: Callable[[], object]) -> None:
    """Let the other tasks run until something is so."""
    for _ in range(10_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come about")


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(50):
        await asyncio.sleep(0)


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def never_answer(peer: Peer, message: Synthesize) -> None:
    """The server has taken the request, and nothing comes of it; it goes on listening."""


def greets_then(then: Callable[[MemoryPeer], Awaitable[None]]) -> Callable[[MemoryPeer], Awaitable[None]]:
    """A server that opens the session and then does as the test says."""

    async def serve(peer: MemoryPeer) -> None:
        await peer.receive()
        await peer.send_event(STAND_IN_CAPABILITIES)
        await then(peer)

    return serve


@asynccontextmanager
async def session_with(
    answer: Answer = speak_out, *, deadlines: Deadlines = SHORT, max_in_flight: int = 8
) -> AsyncIterator[SpeechSession]:
    transport = MemoryTransport(stand_in(answer))
    async with SpeechSession.connect(transport, deadlines=deadlines, max_in_flight=max_in_flight) as session:
        yield session
    assert transport.open_connections == 0
