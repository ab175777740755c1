"""Servers on free loopback ports with an engine that the test can hold back, and clients that collect whole answers."""

import asyncio
import io
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, IncompleteRead
from itertools import pairwise
from typing import Any, cast

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from speech_container.engine import Utterance, Waveform
from speech_container.narration import Narrator
from speech_container.server import SpeechServer, bind
from speech_container.service import Service
from speech_container.settings import Settings
from speech_container.spelling import Spelling, SpellingFrontEnd
from speech_container.studio import Studio
from speech_container.tone_engine import ToneEngine
from speech_container.tracing import Tracer
from speech_container.voices import VoiceBook
from starlette.types import ASGIApp
from websockets.asyncio.client import ClientConnection, connect

SESSION_PATH = "/invocations-bidirectional-stream"
TEXT = "Pay €45 by 6:15pm. Then go home, and rest. Thank you!"


class HeldEngine(ToneEngine):
    """A tone engine that works only while it is open, and remembers what it was given."""

    def __init__(self, max_batch: int = 1) -> None:
        super().__init__(max_batch)
        self.batches: list[list[Utterance]] = []
        self.broken_tokens: set[int] = set()
        self.closed = False
        self._open = threading.Event()
        self._open.set()
        self._arrived = threading.Semaphore(0)

    def hold(self) -> None:
        """Let no synthesis end until `release`."""
        self._open.clear()

    def release(self) -> None:
        """Let everything go on."""
        self._open.set()

    async def busy(self) -> None:
        """Until the engine has begun with one more batch."""
        assert await asyncio.to_thread(self._arrived.acquire, timeout=20)

    def forget(self) -> None:
        """As if nothing had been synthesised so far."""
        self.batches.clear()
        while self._arrived.acquire(blocking=False):
            pass

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        self.batches.append(list(batch))
        self._arrived.release()
        assert self._open.wait(timeout=60)
        if any(self.broken_tokens & set(utterance.token_ids) for utterance in batch):
            raise ValueError("these words must stay in here")
        return super().synthesize(batch)

    def close(self) -> None:
        self.closed = True


class Announcements(io.StringIO):
    """What a supervisor reads from the server's stdout, line by line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    def write(self, text: str) -> int:
        if text.strip():
            self.lines.put_nowait(text.strip())
        return len(text)


@dataclass
class Reply:
    """One HTTP answer. `is_whole`: it ended as HTTP says that it should."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


@dataclass
class Running:
    """A server that is ready."""

    server: SpeechServer
    engine: HeldEngine
    url: str
    task: "asyncio.Task[None]"

    @property
    def service(self) -> Service:
        return self.server.service

    async def http(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """One HTTP request on a connection of its own."""
        return await asyncio.to_thread(self._http, method, path, body, headers)

    async def invoke(self, **fields: Any) -> Reply:
        """POST /invocations."""
        return await self.http("POST", "/invocations", json.dumps(fields).encode())

    async def raw(self, head: str, body: bytes) -> asyncio.StreamWriter:
        """A connection that has sent a request and reads nothing of the answer but what the kernel takes."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1)
        writer.write(head.encode() + body)
        await writer.drain()
        return writer

    def _http(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=30)
        with closing(connection):
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            try:
                return Reply(response.status, received, response.read(), is_whole=True)
            except IncompleteRead as cut_off:
                return Reply(response.status, received, cut_off.partial, is_whole=False)

    @asynccontextmanager
    async def session(self, **options: Any) -> "AsyncIterator[Client]":
        """A WebSocket client."""
        url = self.url.replace("http", "ws", 1) + SESSION_PATH
        async with connect(url, max_size=None, compression=None, proxy=None, **options) as socket:
            yield Client(socket)


@dataclass
class Answer:
    """One request's answer as a client saw it."""

    frames: list[dict[str, Any] | bytes] = field(default_factory=list)

    @property
    def audio(self) -> bytes:
        return b"".join(frame for frame in self.frames if isinstance(frame, bytes))

    @property
    def events(self) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if isinstance(frame, dict)]

    @property
    def end(self) -> dict[str, Any]:
        return self.events[-1]


def words_of(answer: Answer) -> list[dict[str, Any]]:
    """All word times of an answer."""
    return [word for event in answer.events if event["type"] == "timestamps" for word in event["words"]]


def kinds(answer: Answer) -> list[str]:
    """What came, in order, runs of audio as one."""
    found = [frame["type"] if isinstance(frame, dict) else "audio" for frame in answer.frames]
    return [kind for before, kind in pairwise([None, *found]) if kind is not None and (before, kind) != ("audio",) * 2]


ENDINGS = {"synthesis_complete", "synthesis_cancelled", "error", "capabilities", "pong", "session_closed"}


class Client:
    """One WebSocket session, as the tests talk."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, message: str | bytes | None = None, **fields: Any) -> None:
        """One message as it is, or its fields."""
        await self.socket.send(json.dumps(fields) if message is None else message)

    async def frame(self) -> dict[str, Any] | bytes:
        """One frame: a text frame as its object, a binary frame as it is."""
        frame = await asyncio.wait_for(self.socket.recv(), 30)
        if isinstance(frame, bytes):
            return frame
        event: dict[str, Any] = json.loads(frame)
        return event

    async def answer(self) -> Answer:
        """Everything up to the next event that ends an answer."""
        collected = Answer()
        while True:
            frame = await self.frame()
            collected.frames.append(frame)
            if isinstance(frame, dict) and frame["type"] in ENDINGS:
                return collected

    async def ask(self, **fields: Any) -> Answer:
        """Send one message and collect its answer."""
        await self.send(**fields)
        return await self.answer()

    async def closed(self) -> int | None:
        """Wait for the end of the connection; its code."""
        await asyncio.wait_for(self.socket.wait_closed(), 20)
        return self.socket.close_code


@dataclass(frozen=True)
class Decoded:
    """What FFmpeg's libraries hear. `samples`: float64, ±1.0; `duration_s`: as the file's tags have it."""

    samples: NDArray[np.float64]
    rate_hz: int
    duration_s: float

    def level(self, pitch_hz: float) -> float:
        """The amplitude of a tone of that pitch, 0.2 s from both ends."""
        edge = self.rate_hz // 5
        heard = self.samples[edge:-edge]
        turns = np.exp(-2j * np.pi * pitch_hz * np.arange(len(heard)) / self.rate_hz) * np.hanning(len(heard))
        return float(4 * abs(np.mean(heard * turns)))


def _decode(encoded: bytes) -> Decoded:
    with av.open(io.BytesIO(encoded), "r") as container:
        frames = list(container.decode(audio=0))
        duration_s = (container.duration or 0) / 1_000_000
    arrays = [frame.to_ndarray().reshape(-1) for frame in frames]
    samples = np.concatenate(arrays).astype(np.float64)
    if np.issubdtype(arrays[0].dtype, np.integer):
        samples /= 32768
    return Decoded(samples, frames[0].sample_rate, duration_s)


@pytest.fixture
def decode() -> Callable[[bytes], Decoded]:
    """Decodes what a player would."""
    return _decode


def _tone(*pitches_hz: float, samples: int = 73_333) -> NDArray[np.float32]:
    """Tones of 0.5 in all at 24 kHz, faded in and out over 20 ms. The length is a multiple of no codec's frame."""
    time_s = np.arange(samples) / 24_000
    fade = np.clip(np.minimum(time_s, time_s[::-1]) / 0.02, 0, 1)
    tones = sum(np.sin(2 * np.pi * pitch_hz * time_s) for pitch_hz in pitches_hz)
    return (0.5 / len(pitches_hz) * np.sin(np.pi / 2 * fade) ** 2 * tones).astype(np.float32)


@pytest.fixture
def tone() -> Callable[..., NDArray[np.float32]]:
    """Makes tones: of which pitches in Hz, and how many samples."""
    return _tone


class Spans:
    """Where a tracer's spans end up in a test."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = Tracer(provider)

    @property
    def finished(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    @property
    def by_name(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.finished}


@pytest.fixture
def spans() -> Spans:
    """A tracer and its spans."""
    return Spans()


def _tone_studio(engine: ToneEngine | None = None, checks: tuple[Callable[[], object], ...] = ()) -> Studio:
    """A studio that starts at once."""
    narrator = Narrator(SpellingFrontEnd(), Spelling(), VoiceBook.of_tones())
    return Studio(engine or ToneEngine(), narrator, checks)


@pytest.fixture
def tone_studio() -> Callable[..., Studio]:
    """Makes studios: of which engine, and with what checks."""
    return _tone_studio


@pytest.fixture
def held_engine() -> HeldEngine:
    """An engine that the test can hold back."""
    return HeldEngine()


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    """Starts servers (settings as keywords) and stops them after the test."""
    servers: list[Running] = []

    async def start_one(
        *,
        studio: Studio | None = None,
        until_ready: bool = True,
        around: Callable[[ASGIApp, Service], ASGIApp] | None = None,
        stay_up: bool = False,
        **settings: Any,
    ) -> Running:
        held = HeldEngine()
        announcements = Announcements()
        service = Service(Settings(engine="tone", **settings), lambda _: studio or _tone_studio(held))
        server = SpeechServer(service, announcements, stay_up=stay_up)
        if around is not None:
            server.config.app = around(cast(ASGIApp, server.config.app), service)
        listener = bind("127.0.0.1", 0)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        listening = await asyncio.wait_for(announcements.lines.get(), 20)
        running = Running(server, held, listening.rpartition(" ")[2], task)
        servers.append(running)
        if not until_ready:
            return running
        assert (await asyncio.wait_for(announcements.lines.get(), 20)).startswith("speech-container: ready (tone, ")
        held.forget()
        return running

    yield start_one
    for running in servers:
        running.engine.release()
        running.server.should_exit = True
        await asyncio.wait_for(running.task, 20)
