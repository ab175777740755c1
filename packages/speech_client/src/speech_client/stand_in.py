"""A speech server for tests that needs no model: its audio spells the text, so that a listener can tell what it hears.

It follows the contract as a server should (greets, answers in order, says goodbye) over whatever a `Peer` stands for: a
`MemoryPeer`, or a WebSocket. A context is answered like a request of the same text, once it is flushed; what came after
its first message waits for that. Tests replace the answer to a request or to a cancel by a coroutine of their own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from speech_protocol import (
    AudioFramer,
    Cancel,
    Capabilities,
    ClientMessage,
    Close,
    Hello,
    KnownEvent,
    Ping,
    Pong,
    SessionClosed,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
    Text,
)

STAND_IN_CAPABILITIES = Capabilities(
    protocol_version="1.0",
    engine="stand-in",
    voices=("af_heart",),
    languages=("en-us",),
    formats=("pcm",),
    sample_rates=(24000,),
    timestamps=False,
    latency=("exact",),
    limits={},
)
_PCM_BYTES_A_SECOND = 24000 * 2


class Peer(Protocol):
    """The server's end of one connection."""

    def messages(self) -> AsyncIterator[ClientMessage]:
        """What the client says, until it closes its side."""
        ...

    async def send(self, data: bytes, *, is_text: bool = False, is_final: bool = True) -> None:
        """Send one message or fragment."""

    async def send_event(self, event: KnownEvent) -> None:
        """Send a control event as text."""


Answer = Callable[[Peer, Synthesize], Awaitable[None]]
OnCancel = Callable[[Peer, Cancel], Awaitable[None]]


def spell(text: str) -> bytes:
    """The stand-in's voice: one 16-bit sample a character (two beyond the basic plane)."""
    return text.encode("utf-16-le")


def starts(message: Synthesize) -> SynthesisStart:
    """The event that begins the answer to `message`."""
    return SynthesisStart(message.request_id or "", message.options.format, 24000, message.options.voice)


def completes(message: Synthesize) -> SynthesisComplete:
    """The event that ends the answer to `message`, for audio as `spell` makes it."""
    audio_bytes = len(spell(message.text))
    return SynthesisComplete(
        request_id=message.request_id or "",
        total_duration_s=audio_bytes / _PCM_BYTES_A_SECOND,
        elapsed_s=0.1,
        queue_s=0.0,
        first_audio_s=0.05,
        audio_bytes=audio_bytes,
    )


async def speak_out(peer: Peer, message: Synthesize) -> None:
    """Answer a request in full."""
    await peer.send_event(starts(message))
    for frame in AudioFramer().feed(spell(message.text)):
        await peer.send(frame)
    await peer.send_event(completes(message))


async def _nothing_to_cancel(peer: Peer, message: Cancel) -> None:
    """By the time that `speak_out` lets a cancel be read, the request has been answered."""


def stand_in(answer: Answer = speak_out, on_cancel: OnCancel = _nothing_to_cancel) -> Callable[[Peer], Awaitable[None]]:
    """A server for one connection, which returns after its goodbye or when the client has gone."""

    async def serve(peer: Peer) -> None:
        line = _Line()
        async for message in peer.messages():
            match message:
                case Hello():
                    await peer.send_event(STAND_IN_CAPABILITIES)
                case Ping(id=ping_id):
                    await peer.send_event(Pong(ping_id))
                case Synthesize():
                    line.add(message)
                case Text():
                    line.write(message)
                case Cancel():
                    for stopped in line.cancel(message.request_id or message.context_id):
                        await peer.send_event(SynthesisCancelled(stopped.request_id or "", "", stopped.text, 0.0))
                    await on_cancel(peer, message)
                case Close():
                    await peer.send_event(SessionClosed())
                    return
            while (ready := line.next()) is not None:
                await answer(peer, ready)

    return serve


class _Line:
    """What is to be answered, in order; an open context holds its place."""

    def __init__(self) -> None:
        self._waiting: list[Synthesize] = []
        self._open: set[str] = set()

    def add(self, message: Synthesize) -> None:
        self._waiting.append(message)

    def write(self, message: Text) -> None:
        if message.context_id not in self._open:
            self._open.add(message.context_id)
            self._waiting.append(Synthesize("", message.options, message.context_id))
        place = next(i for i, found in enumerate(self._waiting) if found.request_id == message.context_id)
        found = self._waiting[place]
        self._waiting[place] = replace(found, text=found.text + message.delta)
        if message.flush:
            self._open.discard(message.context_id)

    def next(self) -> Synthesize | None:
        """The oldest, once all of its text is there."""
        if not self._waiting or self._waiting[0].request_id in self._open:
            return None
        return self._waiting.pop(0)

    def cancel(self, request_id: str | None) -> list[Synthesize]:
        """Take out one, or all: what was waiting."""
        stopped = [found for found in self._waiting if request_id in (None, found.request_id)]
        self._waiting = [found for found in self._waiting if found not in stopped]
        self._open -= {found.request_id or "" for found in stopped}
        return stopped
