"""The server behind both of its faces: whether it is ready, who is admitted, and how a request becomes a recitation.

WebSocket sessions and HTTP requests call `recite` and nothing deeper. Phonemes are made in one thread of their own,
so that the event loop answers pings whatever is being prepared or spoken.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from enum import Enum, auto
from typing import Final

from speech_protocol import (
    PROTOCOL_VERSION,
    Capabilities,
    ErrorCode,
    Synthesize,
    VoiceOptions,
)
from speech_text import IncrementalSentenceChunker

from . import encoders
from .account import Face
from .errors import EngineFailed, Refusal
from .limits import Memory, RequestRate
from .measured_engine import MeasuredEngine
from .narration import Narrator, Script
from .session import MAX_TEXT_CONTEXTS
from .settings import Settings
from .studio import Studio, open_studio, with_engine
from .synthesis import Recitation, Synthesis, busy
from .telemetry import Telemetry
from .voices import VoiceCard

logger = logging.getLogger(__name__)

STALE_AFTER_S: Final = 60.0  # what SageMaker itself waits for an answer
_WARM_UP = "Ready to speak."
_PREPARING_RETRY_S = 1.0
_LOADING_RETRY_S = 5.0
_FULL_RETRY_S = 5.0


class State(Enum):
    """What `/ping` reports."""

    LOADING = auto()
    READY = auto()
    FAILED = auto()
    DRAINING = auto()


class Service:
    """One engine with its narrator, from loading to draining. All methods are for the event loop.

    `clock`: seconds that never go back. `front_end`: where phonemes are made, one text at a time; a thread of its own
    by default. `new_synthesis` makes what owns the engine.
    """

    def __init__(
        self,
        settings: Settings,
        open_studio: Callable[[Settings], Studio] = open_studio,
        *,
        clock: Callable[[], float] = time.monotonic,
        front_end: Executor | None = None,
        new_synthesis: Callable[..., Synthesis] = Synthesis,
    ) -> None:
        self.settings = with_engine(settings)
        self.clock = clock
        self.telemetry = Telemetry(self.settings, lambda: self.waiting_segments, lambda: self.running)
        self.memory = Memory()
        self._open_studio = open_studio
        self.state = State.LOADING
        self.failure: BaseException | None = None
        """Why it could not be loaded, where `state` is FAILED."""
        self.running = 0
        """Requests that were admitted and whose answers are not finished."""
        self._listeners = itertools.count(1)
        self._preparing = 0
        self._has_durations = False
        self._loads_for_nobody = False
        self._when_abandoned: set[Callable[[], None]] = set()
        self._front_end = front_end or ThreadPoolExecutor(max_workers=1, thread_name_prefix="front-end")
        self._new_synthesis = new_synthesis
        self._narrator: Narrator | None = None
        self._synthesis: Synthesis | None = None

    async def load(self) -> None:
        """Load, verify and speak once; then `state` is READY. Raises whatever stopped it; then it is FAILED."""
        try:
            await self._start(await asyncio.to_thread(self._open_studio, self.settings))
        except BaseException as error:
            self.state = State.FAILED
            self._loads_for_nobody = isinstance(error, asyncio.CancelledError)
            self.failure = None if self._loads_for_nobody else error
            raise
        if self.state is State.LOADING:
            self.state = State.READY

    async def stop(self) -> None:
        """Let go of the engine and the threads."""
        self._front_end.shutdown(wait=False, cancel_futures=True)
        if self._synthesis is not None:
            await self._synthesis.stop()

    @property
    def jobs(self) -> int:
        """The requests that the engine still has to do with."""
        return 0 if self._synthesis is None else self._synthesis.jobs

    @property
    def waiting_segments(self) -> int:
        """The segments that wait for the engine."""
        return 0 if self._synthesis is None else self._synthesis.waiting_segments

    @property
    def is_working(self) -> bool:
        """Whether a thread is still busy that cannot be stopped: one that loads, or the engine's in a long step."""
        return self._loads_for_nobody or (self._synthesis is not None and self._synthesis.is_working)

    def drain(self) -> None:
        """Refuse what comes from now on; what runs goes on."""
        self.state = State.DRAINING

    def abandon(self) -> None:
        """Give up what still runs: each request is told `shutting_down`."""
        if self._synthesis is not None:
            self._synthesis.abandon()
        for tell in tuple(self._when_abandoned):
            tell()

    @contextlib.contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """Around what waits for a client rather than for the engine: `abandon` calls `tell`, perhaps often."""
        self._when_abandoned.add(tell)
        try:
            yield
        finally:
            self._when_abandoned.discard(tell)

    def hush(self, listener: int) -> None:
        """The listener has stopped playing what was sent to it."""
        if self._synthesis is not None:
            self._synthesis.interrupt(listener)

    def new_listener(self) -> int:
        """A number for somebody who will hear one request after the other."""
        return next(self._listeners)

    @contextlib.contextmanager
    def admitted(self) -> Iterator[None]:
        """Around everything that is done for one request, so that draining can wait for it."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    @contextlib.contextmanager
    def session(self, face: Face) -> Iterator[None]:
        """Around a WebSocket session or an HTTP request. Raises `Refusal` where there are as many as there may be."""
        limit = self.settings.max_sessions
        if self.telemetry.sessions >= limit:
            raise Refusal(ErrorCode.BUSY, f"the server has {limit} sessions already; try again later", _FULL_RETRY_S)
        self._require_memory()
        with self.telemetry.session(face):
            yield

    def request_gate(self) -> Callable[[], None]:
        """For one session: `require_open`, which also raises `Refusal` for one request a minute too many."""
        rate = RequestRate(self.settings.max_requests_per_minute, self.clock())

        def require_open() -> None:
            self.require_open()
            if retry_after_s := rate.take(self.clock()):
                limit = self.settings.max_requests_per_minute
                text = f"a session may send {limit} requests a minute; try again later"
                raise Refusal(ErrorCode.RATE_LIMITED, text, round(retry_after_s, 3))

        return require_open

    def require_open(self) -> None:
        """Raises `Refusal` unless requests are being taken."""
        match self.state:
            case State.READY:
                self._require_memory()
            case State.LOADING:
                raise Refusal(ErrorCode.BUSY, "the server is still loading its voices", _LOADING_RETRY_S)
            case State.FAILED:
                raise Refusal(ErrorCode.SHUTTING_DOWN, "the server could not load its voices")
            case State.DRAINING:
                raise Refusal(ErrorCode.SHUTTING_DOWN, "the server is shutting down; use another one")

    def chunker(self, options: VoiceOptions) -> IncrementalSentenceChunker:
        """What cuts a context's text into sentences. Raises `Refusal` for options that cannot be served."""
        if self._narrator is None:
            raise Refusal(ErrorCode.BUSY, "the server is still loading its voices", _LOADING_RETRY_S)
        return self._narrator.chunker(options)

    async def recite(self, listener: int, request: Synthesize, *, paced: bool = True) -> Recitation:
        """Prepare a request and queue it for the engine. Raises `Refusal`.

        `paced`: somebody hears it as it comes, so it is made at most `look_ahead_s` ahead of the listener. The
        requests of one listener are queued in the order of the calls. Call it inside `admitted`.
        """
        narrator, synthesis = self._narrator, self._synthesis
        if narrator is None or synthesis is None:
            raise Refusal(ErrorCode.BUSY, "the server is still loading its voices", _LOADING_RETRY_S)
        self._require_fresh(request)
        encoders.require_supported(request.options.format, request.options.sample_rate)
        script = await self._prepare(narrator, self._with_latency(request, paced=paced))
        return synthesis.recite(listener, script, paced=paced)

    @property
    def voices(self) -> tuple[VoiceCard, ...]:
        """The voices that requests may name, and blend. A server that is still loading has none yet."""
        return self._narrator.voices.cards if self._narrator else ()

    def capabilities(self) -> Capabilities:
        """The answer to `hello`. A server that is still loading has no voices yet."""
        narrator, settings = self._narrator, self.settings
        return Capabilities(
            protocol_version=PROTOCOL_VERSION,
            engine=settings.engine,
            voices=narrator.voices.names if narrator else (),
            languages=narrator.languages if narrator else (),
            formats=encoders.offered_formats(),
            sample_rates=encoders.offered_rates_hz(),
            timestamps=self._has_durations,
            latency=self._synthesis.engine.latencies if narrator and self._synthesis else ("exact",),
            limits={
                "max_text_chars": settings.max_text_chars,
                "max_message_bytes": settings.max_message_bytes,
                "max_waiting_requests": settings.max_waiting_requests,
                "max_requests_per_minute": settings.max_requests_per_minute,
                "max_sessions": settings.max_sessions,
                "max_text_contexts": MAX_TEXT_CONTEXTS,
                "context_idle_s": settings.context_idle_s,
                "look_ahead_s": settings.look_ahead_s,
                "frame_bytes": settings.frame_bytes,
            },
        )

    async def _start(self, studio: Studio) -> None:
        settings = self.settings
        synthesis = self._new_synthesis(
            MeasuredEngine(studio.engine, self.telemetry.step),
            max_waiting_segments=settings.max_waiting_segments,
            look_ahead_s=settings.look_ahead_s,
            max_wait_s=settings.max_wait_s,
            batch_window_s=settings.batch_window_ms / 1000,
            clock=self.clock,
        )
        self._synthesis = synthesis
        codecs = asyncio.to_thread(encoders.offered_formats)  # the first call loads their libraries
        await asyncio.gather(synthesis.start(), codecs, *(asyncio.to_thread(check) for check in studio.checks))
        voice = VoiceOptions().voice if VoiceOptions().voice in studio.narrator.voices.names else None
        options = VoiceOptions(voice=voice or studio.narrator.voices.names[0])
        try:
            script = await self._prepare(studio.narrator, Synthesize(_WARM_UP, options))
            with synthesis.recite(self.new_listener(), script) as recitation:
                waveforms = [spoken.waveform async for spoken in recitation]
        except Refusal as refusal:
            raise EngineFailed("the warm-up sentence could not be spoken; the log says where it failed") from refusal
        if not sum(len(waveform.samples) for waveform in waveforms):
            raise EngineFailed("the engine made no audio for the warm-up sentence")
        self._has_durations = all(waveform.frames is not None for waveform in waveforms)
        self._narrator = studio.narrator

    async def _prepare(self, narrator: Narrator, request: Synthesize) -> Script:
        if self._preparing >= self.settings.max_waiting_segments:
            raise busy(_PREPARING_RETRY_S)
        self._preparing += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._front_end, narrator.script, request)
        except Refusal:
            raise
        except Exception:  # a front end's library may raise anything; its words are not for clients
            logger.exception("no phonemes", extra={"fields": {"chars": len(request.text)}})
            raise Refusal(ErrorCode.SYNTHESIS_FAILED, "this text could not be turned into phonemes") from None
        finally:
            self._preparing -= 1

    def _with_latency(self, request: Synthesize, *, paced: bool) -> Synthesize:
        """Nobody hears the beginning of a file before its last one, so a file is exact."""
        latency = (request.options.latency or self.settings.latency) if paced else "exact"
        return replace(request, options=replace(request.options, latency=latency))

    def _require_memory(self) -> None:
        if self.memory.is_full:
            raise Refusal(ErrorCode.BUSY, "the server's memory is full; try again later", _FULL_RETRY_S)

    def _require_fresh(self, request: Synthesize) -> None:
        if request.request_timestamp is None:
            return
        age_s = time.time() - request.request_timestamp
        if age_s > STALE_AFTER_S:
            raise Refusal(
                ErrorCode.REQUEST_STALE,
                f"the request is {age_s:.0f} s old; this server takes at most {STALE_AFTER_S:g} s",
            )
