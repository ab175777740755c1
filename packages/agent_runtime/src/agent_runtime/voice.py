"""Speaking one answer: pieces of text are handed in as they exist, their audio goes to the caller.

Nothing that writes waits for speech: pieces wait here until the session takes them. Sending and receiving are two
tasks, so the speech server always has the next piece before it needs it. A session that dies is replaced once in an
answer, and one that has become old is replaced between two pieces; `recital` sees to it that nothing is lost or heard
twice. What goes wrong beyond that ends the speaking, with one typed `error` to the caller; the text of the answer does
not depend on it.
"""

import asyncio
import contextlib
import dataclasses
import enum
import logging
import random
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from speech_client import (
    RequestEvent,
    SpeechConnectError,
    SpeechError,
    SpeechProtocolError,
    SpeechRequestError,
    SpeechSessionEnded,
    SpeechTimeoutError,
)
from speech_protocol import (
    Audio,
    Capabilities,
    ErrorCode,
    ErrorEvent,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Timestamps,
    VoiceOptions,
    WordTime,
)

from .answer_audio import AnswerAudio
from .errors import AgentErrorCode
from .events import AgentErrorEvent, AgentEvent
from .recital import Recital
from .relay import Emit
from .timeline import Timeline
from .transcript import Transcript

MAX_WAITING_PIECES: Final = 256  # more than an answer of 1,024 tokens has
RECONNECTS: Final = 1  # in one answer; what fails twice within a minute fails a third time

_log = logging.getLogger(__name__)


class Context(Protocol):
    """The part of `speech_client.SpeechContext` that is used."""

    id: str

    async def write(self, delta: str, *, cut: bool = False) -> None: ...

    async def finish(self) -> None: ...


class Session(Protocol):
    """The part of `speech_client.SpeechSession` that is used."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def open_context(self, options: VoiceOptions) -> Context: ...

    def events(self) -> AsyncGenerator[RequestEvent]: ...

    async def cancel(self, request_id: str) -> None: ...


class Speech(Protocol):
    """The part of `speech_client.KeptSession` that is used."""

    @property
    def is_due(self) -> bool: ...

    def use(self) -> AbstractAsyncContextManager[Session]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """In seconds. `retry_s`: before a second try, unless the server says how long; at most `longest_retry_s`, which is
    what a listener waits for a voice that is busy. `alive_s`: a context that gets no text is kept alive so often; the
    server ends it after a minute.
    """

    retry_s: float = 0.25
    longest_retry_s: float = 2.0
    alive_s: float = 20.0


class _End(enum.Enum):
    """How the use of a session ended, other than by failing."""

    SAID = "all has been said"
    MORE = "there is more to say, in another context"


class Voice:
    """`run` in a task; `say` each piece; then `finish` and wait for `settled`."""

    def __init__(
        self,
        speech: Speech,
        options: VoiceOptions,
        audio: AnswerAudio,
        timeline: Timeline,
        transcript: Transcript,
        emit: Emit,
        timing: Timing,
    ) -> None:
        self._speech = speech
        self._options = options
        self._audio = audio
        self._timeline = timeline
        self._transcript = transcript
        self._emit = emit
        self._timing = timing
        self._waiting: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue(MAX_WAITING_PIECES)
        self._recital = Recital(skips=audio.is_samples)
        self._is_all_in = False
        self._context: Context | None = None
        self._keeps_session = False
        self._has_failed = False
        self.settled = asyncio.Event()
        """Set once all is spoken or speaking has failed; everything about it has been emitted by then."""

    @property
    def has_failed(self) -> bool:
        """Whether the rest of the answer is not spoken."""
        return self._has_failed

    async def say(self, place: int, text: str) -> None:
        """Speak `text`, of the timeline's sentence at `place`, in its turn; forgotten once speaking has failed."""
        if not self.settled.is_set():
            await self._waiting.put((place, text))

    async def finish(self) -> None:
        """No piece follows."""
        if not self.settled.is_set():
            await self._waiting.put(None)

    def keep_session(self) -> None:
        """When `run` is cancelled from now on, the synthesis is stopped and the session stays open for the next use."""
        self._keeps_session = True

    async def run(self) -> None:
        """Open the session at once and speak until all is said. What fails is reported to the caller, not raised."""
        reconnects = RECONNECTS
        while True:
            end, failure = await self._use_session()
            if _is_cancelled():  # a task group that also fails keeps a cancellation to itself (Python 3.12)
                raise asyncio.CancelledError
            if end is _End.SAID:
                await self._settle()
                return
            if failure is not None:
                if not (reconnects and failure.retryable and self._recital.can_resume):
                    await self._fail(failure)
                    return
                reconnects -= 1
                _log.warning("speech goes on in another context", exc_info=failure)
                await asyncio.sleep(self._pause_s(failure))
            await self._tell(self._audio.broken())

    async def _use_session(self) -> tuple[_End | None, SpeechError | None]:
        end: _End | SpeechRequestError | None = None
        failure: SpeechError | None = None
        interrupted: asyncio.CancelledError | None = None
        try:
            async with self._speech.use() as session:
                try:
                    end = await self._talk(session)
                except asyncio.CancelledError as error:
                    if not self._keeps_session:
                        raise
                    interrupted = error
                    if self._context is not None:
                        await session.cancel(self._context.id)
        except* SpeechError as failures:
            failure = _first(failures)
        if interrupted is not None:
            raise interrupted
        return (None, end) if isinstance(end, SpeechRequestError) else (end, failure)

    async def _talk(self, session: Session) -> _End | SpeechRequestError:
        """Say in one context what is to be said. Returns what the server says against that, and leaves the session."""
        self._context = None
        self._recital.begin(self._audio.position_s - self._audio.samples_s(self._recital.in_hand_bytes))
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(self._send(session))
            end = await self._receive(session)
            sending.cancel()
        return end

    async def _send(self, session: Session) -> None:
        max_chars = int(session.capabilities.limits.get("max_text_chars", 0)) or None
        self._context = context = await session.open_context(self._options)
        with contextlib.suppress(SpeechRequestError):  # the context has ended; its events say why
            while (text := await self._next(context)) is not None:
                if max_chars is not None and not self._recital.fits(text, max_chars):
                    break
                await context.write(text, cut=True)
                self._timeline.sent(self._recital.written())
            await context.finish()

    async def _next(self, context: Context) -> str | None:
        """The next piece to write, or None at the end of the text. Keeps the context alive meanwhile."""
        while (text := self._recital.unwritten()) is None and not self._is_all_in:
            try:
                async with asyncio.timeout(self._timing.alive_s):
                    piece = await self._waiting.get()
            except TimeoutError:
                await context.write("")
                continue
            if piece is None:
                self._is_all_in = True
            else:
                self._recital.add(*piece)
        return text

    async def _receive(self, session: Session) -> _End | SpeechRequestError:
        async with contextlib.aclosing(session.events()) as events:
            async for item in events:
                if item.request_id is None and isinstance(item.event, ErrorEvent):
                    raise SpeechRequestError.of(item.event)  # of no context: what this one will come to is not known
                if self._context is None or item.request_id != self._context.id:
                    continue  # of an answer that was interrupted
                match item.event:
                    case SynthesisComplete(total_duration_s=total_s):
                        self._audio.complete(total_s)
                        return self._completed()
                    case ErrorEvent(code=ErrorCode.TEXT_EMPTY):  # only emoji and the like: nothing to say
                        return self._completed()
                    case ErrorEvent(code=ErrorCode.SHUTTING_DOWN) as error:
                        raise SpeechSessionEnded(f"the speech server shuts down: {error.message}", error.code)
                    case ErrorEvent() as error:
                        return SpeechRequestError.of(error)
                    case SynthesisCancelled():
                        message = "the speech server stopped speaking"
                        return SpeechRequestError(ErrorCode.CANCELLED, message, retryable=True)
                    case SynthesisStart(sample_rate=sample_rate_hz):
                        await self._tell(self._audio.started(sample_rate_hz))
                    case Timestamps(words=words):
                        self._reach(words)
                        if self._recital.in_hand_bytes == 0 and self._speech.is_due:
                            await session.cancel(self._context.id)
                            return _End.MORE
                        await self._tell_words(words)
                    case Audio(data=data):
                        await self._hear(data)
        raise SpeechProtocolError("the events of a session ended before its context was complete")

    def _completed(self) -> _End:
        for place in self._recital.complete():
            self._done(place)
        return _End.SAID if self._is_all_in and self._recital.is_silent else _End.MORE

    def _reach(self, words: Sequence[WordTime]) -> None:
        if self._recital.is_silent:
            raise SpeechProtocolError("the speech server speaks where it has been given nothing to say")
        for place in self._recital.reach(words):
            self._done(place)

    async def _tell_words(self, words: Sequence[WordTime]) -> None:
        place = self._recital.place
        start_char = self._timeline.start_char(place, self._recital.text)
        told = tuple(_moved(word, start_char) for word in self._recital.words(words))
        for word in told:
            self._transcript.mark(word.end_s, word.end_char)
        await self._tell(self._audio.words(place, told))

    async def _hear(self, data: bytes) -> None:
        if self._recital.is_silent:
            raise SpeechProtocolError("the speech server speaks where it has been given nothing to say")
        if fresh := self._recital.audio(data):
            await self._tell(self._audio.heard(self._recital.place, fresh))

    def _done(self, place: int) -> None:
        self._audio.done(place)
        self._transcript.mark(self._audio.position_s, self._timeline.end_char(place))

    async def _settle(self, error: AgentErrorEvent | None = None) -> None:
        await self._tell(self._audio.ended())
        if error is not None:
            await self._emit(error)
        self.settled.set()
        while not self._waiting.empty():  # a writer that waits for room must not wait for ever
            self._waiting.get_nowait()

    async def _fail(self, error: SpeechError) -> None:
        self._has_failed = True
        event = _error_event(error)
        _log.warning("speech failed", extra={"code": event.code}, exc_info=error)
        await self._settle(event)

    def _pause_s(self, error: SpeechError) -> float:
        """How long to wait before the second try: as the server asks, within what a listener puts up with."""
        asked_s = getattr(error, "retry_after_s", None) or self._timing.retry_s
        spread = random.uniform(1, 1.5)  # noqa: S311 - spreads load only
        return min(asked_s * spread, self._timing.longest_retry_s)

    async def _tell(self, events: Iterable[AgentEvent]) -> None:
        for event in events:
            await self._emit(event)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _moved(word: WordTime, chars: int) -> WordTime:
    return dataclasses.replace(word, start_char=word.start_char + chars, end_char=word.end_char + chars)


def _first(failures: ExceptionGroup[SpeechError]) -> SpeechError:
    error: BaseException = failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, SpeechError):
        raise TypeError(f"a group of speech errors held {type(error).__name__}")
    return error


def _error_event(error: SpeechError) -> AgentErrorEvent:
    """What the caller is told. The speech server's codes and sentences are made for callers, the client's are not."""
    match error:
        case SpeechRequestError():
            return AgentErrorEvent(error.code, error.message)
        case SpeechConnectError():
            return AgentErrorEvent(AgentErrorCode.SPEECH_UNAVAILABLE, "the voice cannot be reached; the text goes on")
        case SpeechTimeoutError():
            return AgentErrorEvent(AgentErrorCode.SPEECH_TIMEOUT, "the voice did not go on in time; the text goes on")
        case _:
            return AgentErrorEvent(AgentErrorCode.SPEECH_FAILED, "the voice failed; the text goes on")
