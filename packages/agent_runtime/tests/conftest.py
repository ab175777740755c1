"""Scripted services around the agent: a Bedrock that real boto3 talks to, text sources, and collected events."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import struct
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from agent_runtime.events import AgentEvent, AudioChunk, TextDelta
from agent_runtime.settings import Settings
from agent_runtime.turn import Services
from speech_client import Deadlines, MemoryPeer, MemoryTransport, SpeechSession, SpeechSessionEnded
from speech_protocol import (
    Capabilities,
    ClientMessage,
    Close,
    ErrorEvent,
    Hello,
    KnownEvent,
    SessionClosed,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
    Timestamps,
    VoiceOptions,
    WordTime,
    parse_message,
    render_event,
)
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

PATIENCE_S = 10.0  # how long a test waits for what must happen; passing never takes this long


@dataclass(frozen=True)
class Refusal:
    """Instead of an answer: an HTTP error of Bedrock's."""

    status: int
    code: str
    message: str = "the service's own secret words"


@dataclass(frozen=True)
class Fault:
    """In mid stream: an exception event of Bedrock's, or the connection cut where `code` is None."""

    code: str | None = None


Step = str | asyncio.Event | Fault


@dataclass
class Script:
    """One answer: texts, events to wait for, faults. `before_headers`: waited for before anything is answered."""

    steps: Sequence[Step] = ()
    before_headers: asyncio.Event | None = None
    stop_reason: str = "end_turn"


class ScriptedBedrock:
    """bedrock-runtime's ConverseStream on loopback HTTP, one script a call; the last one repeats."""

    def __init__(self) -> None:
        self.scripts: list[Script | Refusal] = [Script()]
        self.requests: list[dict[str, Any]] = []
        self.active = 0
        self.hang_ups = 0
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def until(self, condition: Callable[["ScriptedBedrock"], bool]) -> None:
        """Wait until `condition` holds of this server."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: condition(self))

    async def until_hung_up(self, count: int) -> None:
        """Wait until `count` callers have hung up and no stream is left."""
        await self.until(lambda server: server.hang_ups == count and server.active == 0)

    async def _note(self, *, active: int = 0, hang_ups: int = 0) -> None:
        async with self._changed:
            self.active += active
            self.hang_ups += hang_ups
            self._changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)  # one call a connection, and the client may hang up

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:"))
        self.requests.append(json.loads(await reader.readexactly(length)))
        script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
        if isinstance(script, Refusal):
            await self._note()
            body = json.dumps({"message": script.message}).encode()
            writer.write(
                f"HTTP/1.1 {script.status} No\r\nx-amzn-errortype: {script.code}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
                + body
            )
            return
        await self._note(active=1)
        gone = asyncio.create_task(reader.read(1))  # nothing more is sent: returns when the client hangs up
        talking = asyncio.create_task(self._stream(script, writer))
        try:
            await asyncio.wait({gone, talking}, return_when=asyncio.FIRST_COMPLETED)
            hung_up = not talking.done() or isinstance(talking.exception(), ConnectionError)
        finally:
            talking.cancel()
            gone.cancel()
            await asyncio.wait({gone, talking})
        await self._note(active=-1, hang_ups=hung_up)

    async def _stream(self, script: Script, writer: asyncio.StreamWriter) -> None:
        if script.before_headers is not None:
            await script.before_headers.wait()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await _send(writer, "messageStart", {"role": "assistant"})
        for step in script.steps:
            match step:
                case str():
                    await _send(writer, "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": step}})
                case asyncio.Event():
                    await step.wait()
                case Fault(code=None):
                    writer.transport.abort()
                    return
                case Fault(code=code):
                    await _send(writer, code or "", {"message": "the service's own secret words"}, kind="exception")
        await _send(writer, "contentBlockStop", {"contentBlockIndex": 0})
        await _send(writer, "messageStop", {"stopReason": script.stop_reason})
        await _send(
            writer,
            "metadata",
            {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}},
        )
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _send(writer: asyncio.StreamWriter, name: str, body: dict[str, Any], kind: str = "event") -> None:
    frame = _frame({f":{kind}-type": name, ":message-type": kind, ":content-type": "application/json"}, body)
    writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
    await writer.drain()


def _frame(headers: dict[str, str], body: dict[str, Any]) -> bytes:
    """One message of AWS's event stream encoding: prelude, its CRC, headers, payload, CRC of all."""
    packed = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    payload = json.dumps(body).encode()
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack(">I", zlib.crc32(message))


@pytest.fixture
async def bedrock(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedBedrock]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    server = ScriptedBedrock()
    await server.start()
    yield server
    await server.stop()


def make_settings(bedrock_url: str | None = None, **changes: Any) -> Settings:
    """Settings of an agent with a voice that is never reached, unless `changes` say otherwise."""
    values: dict[str, Any] = {
        "region": "us-east-1",
        "bedrock_model_id": "amazon.test-model-v1:0",
        "speech_websocket_url": "ws://127.0.0.1:9",
        "bedrock_endpoint_url": bedrock_url,
    }
    return Settings(**values | changes)


@dataclass
class ScriptedText:
    """A model without a model: yields its deltas, waits at events, raises what is raised. Knows when it was closed."""

    steps: Sequence[str | asyncio.Event | Exception]
    prompts: list[str] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    taken: int = 0

    async def write(self, prompt: str) -> AsyncGenerator[str]:
        self.prompts.append(prompt)
        try:
            for step in self.steps:
                match step:
                    case str():
                        self.taken += 1
                        yield step
                    case asyncio.Event():
                        await step.wait()
                    case Exception():
                        raise step
        finally:
            self.closed.set()


async def collect(events: AsyncGenerator[AgentEvent]) -> list[AgentEvent]:
    """All events, within a bound."""
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in events]


async def within[T](awaitable: Awaitable[T]) -> T:
    """The result, within a bound."""
    async with asyncio.timeout(PATIENCE_S):
        return await awaitable


SAMPLE_RATE_HZ = 24_000
CHAR_BYTES = 480  # 10 ms a character
FRAME_BYTES = 4096


@dataclass
class ScriptedVoice:
    """A speech server: 10 ms of a constant for every character, which tells the sentences apart. Knows its sessions.

    `refuse`: the error that every text gets instead of audio. `hold`: a text → what is waited for after its first
    frame.
    `die_at`: the text at whose second frame the connection breaks. `cancels`: it stops every text by itself.
    """

    refuse: ErrorEvent | None = None
    hold: dict[str, asyncio.Event] = field(default_factory=dict)
    die_at: str | None = None
    cancels: bool = False
    dies_on_close: bool = False
    deadlines: Deadlines = field(default_factory=Deadlines)
    before_hello: asyncio.Event | None = None
    with_words: bool = False
    texts: list[str] = field(default_factory=list)
    options: list[VoiceOptions] = field(default_factory=list)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @contextlib.asynccontextmanager
    async def open_session(self) -> AsyncIterator[SpeechSession]:
        """For `Services`."""
        transport = MemoryTransport(self.serve)
        try:
            async with SpeechSession.connect(transport, deadlines=self.deadlines) as session:
                yield session
        finally:
            assert transport.open_connections == 0
            self.closed.set()

    async def serve_socket(self, socket: ServerConnection) -> None:
        """The same over a real WebSocket."""
        try:
            await self.serve(SocketPeer(socket))
        except ConnectionClosed:
            pass  # the session was dropped in mid sentence
        finally:
            self.closed.set()

    async def serve(self, peer: "MemoryPeer | SocketPeer") -> None:
        self.opened.set()
        async for message in peer.messages():
            match message:
                case Hello():
                    if self.before_hello is not None:
                        await self.before_hello.wait()
                    await peer.send_event(CAPABILITIES)
                case Synthesize():
                    await self._speak(peer, message)
                case Close() if self.dies_on_close:
                    await peer.fail(SpeechSessionEnded("the connection broke", "1006"))
                case Close():
                    await peer.send_event(SessionClosed())

    async def _speak(self, peer: "MemoryPeer | SocketPeer", message: Synthesize) -> None:
        text, request_id = message.text, message.request_id
        assert request_id is not None
        self.texts.append(text)
        self.options.append(message.options)
        if self.refuse is not None:
            await peer.send_event(dataclasses.replace(self.refuse, request_id=request_id))
            return
        await peer.send_event(SynthesisStart(request_id, message.options.format, SAMPLE_RATE_HZ, message.options.voice))
        if self.cancels:
            await peer.send_event(SynthesisCancelled(request_id, "", text, 0.0))
            return
        if self.with_words:
            await peer.send_event(Timestamps(request_id, (WordTime(text.split()[0], 0.0, 0.01, 0, 1),)))
        audio = sound_of(text)
        for at in range(0, len(audio), FRAME_BYTES):
            await peer.send(audio[at : at + FRAME_BYTES])
            if text in self.hold:
                await self.hold[text].wait()
            if text == self.die_at:
                await peer.fail(SpeechSessionEnded("the connection broke", "1006"))
                return
        await peer.send_event(SynthesisComplete(request_id, len(audio) / 48_000, 0.0, 0.0, 0.0, len(audio)))


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
    "1.0", "scripted", ("af_heart",), ("en-us",), ("pcm",), (SAMPLE_RATE_HZ,), False, ("exact",), {}
)


def sound_of(text: str) -> bytes:
    """The audio that `ScriptedVoice` makes of a text."""
    return bytes([1 + len(text) % 250, ord(text[0]) % 120]) * (CHAR_BYTES // 2 * len(text))


def services(
    text: ScriptedText, voice: ScriptedVoice, queued_events: int = 64, clock: Callable[[], float] = time.monotonic
) -> Services:
    return Services(text.write, voice.open_session, clock, queued_events)


def audio_of(events: Sequence[AgentEvent]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, AudioChunk))


def text_of(events: Sequence[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def types_of(events: Sequence[AgentEvent]) -> list[str]:
    """The types in order, runs of one type as one."""
    return [event_type for event_type, _ in itertools.groupby(event.type for event in events)]


def last_of[E](events: Sequence[AgentEvent], kind: type[E]) -> E:
    """The only event of its kind, which ends the stream."""
    assert [event for event in events if isinstance(event, kind)] == [events[-1]]
    assert isinstance(events[-1], kind)
    return events[-1]
