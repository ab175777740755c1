"""A speech server for the agent's tests, in memory or on a real socket, failing as it is told to."""

import asyncio
import contextlib
import dataclasses
import random
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from speech_client import Deadlines, Keeping, KeptSession, MemoryPeer, MemoryTransport, SpeechSessionEnded
from speech_protocol import (
    Cancel,
    Capabilities,
    ClientMessage,
    Close,
    ErrorCode,
    ErrorEvent,
    Hello,
    KnownEvent,
    Ping,
    Pong,
    SessionClosed,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Text,
    Timestamps,
    VoiceOptions,
    WordTime,
    parse_message,
    render_event,
)
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

SAMPLE_RATE_HZ = 24_000
CHAR_BYTES = 480  # 10 ms a character
CHAR_S = 0.01
FRAME_BYTES = 4096
ENCODED_HEAD = b"<head of a stream>"


@dataclass
class ScriptedVoice:
    """A speech server: 10 ms of noise for every character, other noise for every text. Knows its sessions.

    `refuse`: the error that a context gets instead of audio, `refusals` times. `hold`: a text → what is waited for
    after its first frame. `die_at`: the text after whose first frame the connection breaks (or which `hold` holds up
    to then), `deaths` times; `die_before`: the same before its words. `cancels`: it stops every text by itself.
    `complaint`: what it says, of no context, when text comes. `unasked`: what it says in a context without text.
    """

    refuse: ErrorEvent | None = None
    refusals: int = 1_000
    hold: dict[str, asyncio.Event] = field(default_factory=dict)
    die_at: str | None = None
    die_before: str | None = None
    deaths: int = 1_000
    cancels: bool = False
    complaint: ErrorEvent | None = None
    unasked: Timestamps | bytes | None = None
    deadlines: Deadlines = field(default_factory=Deadlines)
    keeping: Keeping = field(default_factory=Keeping)
    clock: Callable[[], float] = time.monotonic
    before_hello: asyncio.Event | None = None
    with_words: bool = True
    max_text_chars: int = 10_000
    texts: list[str] = field(default_factory=list)
    options: list[VoiceOptions] = field(default_factory=list)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[str] = field(default_factory=list)
    sessions: int = 0
    contexts: int = 0
    keeps_alive: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.transport = MemoryTransport(self.serve)

    def kept(self) -> KeptSession:
        """For a `Conversation`."""
        return KeptSession(self.transport, deadlines=self.deadlines, keeping=self.keeping, clock=self.clock)

    async def serve_socket(self, socket: ServerConnection) -> None:
        """The same over a real WebSocket."""
        with contextlib.suppress(ConnectionClosed):  # the session was dropped in mid sentence
            await self.serve(SocketPeer(socket))

    async def serve(self, peer: "MemoryPeer | SocketPeer") -> None:
        self.opened.set()
        self.sessions += 1
        session = _VoiceSession(self, peer)
        speaking = asyncio.create_task(session.speak())
        try:
            await session.listen(speaking)
        finally:
            self.closed.set()
            speaking.cancel()
            await asyncio.wait({speaking})


class _VoiceSession:
    """One session: a task that listens, and one that speaks what was said."""

    def __init__(self, voice: ScriptedVoice, peer: "MemoryPeer | SocketPeer") -> None:
        self._voice = voice
        self._peer = peer
        self._said: asyncio.Queue[tuple[str, str | None, int]] = asyncio.Queue()  # context, piece or its end, its place
        self._written: dict[str, str] = {}
        self._refused: set[str] = set()
        self._options: dict[str, VoiceOptions] = {}
        self._sent_bytes: dict[str, int] = {}

    async def listen(self, speaking: asyncio.Task[None]) -> None:
        async for message in self._peer.messages():
            match message:
                case Hello():
                    if self._voice.before_hello is not None:
                        await self._voice.before_hello.wait()
                    limits = {"max_text_chars": float(self._voice.max_text_chars)}
                    await self._peer.send_event(dataclasses.replace(CAPABILITIES, limits=limits))
                case Ping(id=ping_id):
                    await self._peer.send_event(Pong(ping_id))
                case Text():
                    await self._hear(message)
                case Cancel(request_id=str(context_id)):
                    self._voice.cancelled.append(context_id)
                    self._refused.add(context_id)
                    await self._peer.send_event(SynthesisCancelled(context_id, "", "", 0.0))
                case Close():
                    await self._peer.send_event(SessionClosed())

    async def _hear(self, message: Text) -> None:
        voice, context_id = self._voice, message.context_id
        if context_id not in self._written:
            self._written[context_id] = ""
            self._sent_bytes[context_id] = 0
            self._options[context_id] = message.options
            voice.contexts += 1
            voice.options.append(message.options)
            if voice.refuse is not None and voice.refuse.code != ErrorCode.TEXT_EMPTY and voice.refusals:
                voice.refusals -= 1
                self._refused.add(context_id)
                await self._peer.send_event(dataclasses.replace(voice.refuse, request_id=context_id))
            if voice.unasked is not None:
                await self._say_unasked(context_id, voice.unasked)
        elif not message.delta and not message.flush:
            voice.keeps_alive.set()
        if context_id in self._refused:
            return
        if voice.complaint is not None and message.delta:
            await self._peer.send_event(voice.complaint)
        if piece := message.delta.strip():
            voice.texts.append(piece)
            self._said.put_nowait((context_id, piece, len(self._written[context_id])))
        self._written[context_id] += message.delta
        if message.flush:
            self._said.put_nowait((context_id, None, 0))

    async def _say_unasked(self, context_id: str, what: Timestamps | bytes) -> None:
        await self._peer.send_event(SynthesisStart(context_id, "pcm", SAMPLE_RATE_HZ, "af_heart"))
        if isinstance(what, bytes):
            await self._peer.send(what)
        else:
            await self._peer.send_event(dataclasses.replace(what, request_id=context_id))

    async def speak(self) -> None:
        with contextlib.suppress(ConnectionClosed, SpeechSessionEnded):  # the listener has gone
            while True:
                context_id, piece, place = await self._said.get()
                if context_id not in self._refused:
                    await (self._end(context_id) if piece is None else self._speak(context_id, piece, place))

    async def _end(self, context_id: str) -> None:
        if self._voice.refuse is not None and self._voice.refuse.code == ErrorCode.TEXT_EMPTY:
            await self._peer.send_event(dataclasses.replace(self._voice.refuse, request_id=context_id))
            return
        if not self._written[context_id].strip():
            await self._peer.send_event(ErrorEvent.of(ErrorCode.TEXT_EMPTY, "there is nothing to speak", context_id))
            return
        sent = self._sent_bytes[context_id]
        await self._peer.send_event(SynthesisComplete(context_id, sent / 48_000, 0.0, 0.0, 0.0, sent))

    async def _speak(self, context_id: str, piece: str, place: int) -> None:
        voice, peer = self._voice, self._peer
        if voice.refuse is not None and voice.refuse.code == ErrorCode.TEXT_EMPTY:
            return
        if piece == voice.die_before and voice.deaths:
            await self._die()
        begun_s = self._sent_bytes[context_id] / 48_000
        options = self._options[context_id]
        if not begun_s:
            await peer.send_event(SynthesisStart(context_id, options.format, SAMPLE_RATE_HZ, options.voice))
            if options.format != "pcm":
                await peer.send(ENCODED_HEAD)
        if voice.cancels:
            await peer.send_event(SynthesisCancelled(context_id, "", piece, 0.0))
            self._refused.add(context_id)
            return
        if voice.with_words and options.timestamps:
            await peer.send_event(Timestamps(context_id, _words(piece, begun_s, place)))
        audio = sound_of(piece)
        for at in range(0, len(audio), FRAME_BYTES):
            if context_id in self._refused:
                return
            frame = audio[at : at + FRAME_BYTES]
            self._sent_bytes[context_id] += len(frame)
            await peer.send(frame)
            if piece in voice.hold:
                await voice.hold[piece].wait()
            if piece == voice.die_at and voice.deaths:
                await self._die()

    async def _die(self) -> None:
        self._voice.deaths -= 1
        await self._peer.fail(SpeechSessionEnded("the connection broke", "1006"))
        await asyncio.Event().wait()


def _words(piece: str, begun_s: float, place: int) -> tuple[WordTime, ...]:
    return tuple(
        WordTime(
            found[0],
            round(begun_s + CHAR_S * found.start(), 6),
            round(begun_s + CHAR_S * found.end(), 6),
            place + found.start(),
            place + found.end(),
        )
        for found in re.finditer(r"\S+", piece)
    )


class SocketPeer:
    """A WebSocket with the face of `MemoryPeer`."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket

    async def messages(self) -> AsyncIterator[ClientMessage]:
        async for frame in self._socket:
            yield parse_message(frame)

    async def send(self, data: bytes) -> None:
        await self._socket.send(data)

    async def send_event(self, event: KnownEvent) -> None:
        await self._socket.send(render_event(event))

    async def fail(self, _: Exception) -> None:
        self._socket.transport.abort()


CAPABILITIES = Capabilities(
    "1.0", "scripted", ("af_heart",), ("en-us",), ("pcm",), (SAMPLE_RATE_HZ,), True, ("exact",), {}
)


def sound_of(text: str) -> bytes:
    """The audio that `ScriptedVoice` makes of a text."""
    return random.Random(text).randbytes(CHAR_BYTES * len(text))
