"""Speaking one answer over one speech session: sentences are handed in as they exist, their audio goes to the caller.

Nothing that writes waits for speech: sentences wait here until the session takes them. Sending and receiving are two
tasks, because the session takes sentences ahead of the one that it is speaking. The first thing that goes wrong ends
the speaking, with one typed `error` to the caller; the text of the answer does not depend on it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from speech_client import (
    RequestEvent,
    SpeechConnectError,
    SpeechError,
    SpeechRequestError,
    SpeechTimeoutError,
)
from speech_protocol import (
    Audio,
    ErrorCode,
    ErrorEvent,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Timestamps,
    VoiceOptions,
)

from .answer_audio import AnswerAudio
from .errors import AgentErrorCode
from .events import AgentErrorEvent, AgentEvent
from .relay import Emit
from .timeline import Timeline

MAX_WAITING_SENTENCES: Final = 256  # more than an answer of 1,024 tokens has

_log = logging.getLogger(__name__)


class Session(Protocol):
    """The part of `speech_client.SpeechSession` that is used."""

    async def send(self, text: str, options: VoiceOptions) -> str: ...

    def finish(self) -> None: ...

    def events(self) -> AsyncIterator[RequestEvent]: ...


OpenSession = Callable[[], AbstractAsyncContextManager[Session]]


class Voice:
    """`run` in a task; `say` each sentence; then `finish` and wait for `settled`."""

    def __init__(
        self, open_session: OpenSession, options: VoiceOptions, audio: AnswerAudio, timeline: Timeline, emit: Emit
    ) -> None:
        self._open_session = open_session
        self._options = options
        self._audio = audio
        self._timeline = timeline
        self._emit = emit
        self._waiting: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue(MAX_WAITING_SENTENCES)
        self._places: dict[str, int] = {}  # what was sent and is not yet answered
        self.settled = asyncio.Event()
        """Set once all is spoken or speaking has failed; everything about it has been emitted by then."""

    async def say(self, place: int, text: str) -> None:
        """Speak `text`, of the timeline's sentence at `place`, in its turn; forgotten once speaking has failed."""
        if not self.settled.is_set():
            await self._waiting.put((place, text))

    async def finish(self) -> None:
        """No sentence follows."""
        if not self.settled.is_set():
            await self._waiting.put(None)

    async def run(self) -> None:
        """Open the session at once and speak until all is said. What fails is reported to the caller, not raised."""
        try:
            async with self._open_session() as session:
                await self._talk(session)
                await self._settle()
        except* SpeechError as failures:
            await self._fail(_first(failures))

    async def _talk(self, session: Session) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send(session))
            tasks.create_task(self._receive(session))

    async def _send(self, session: Session) -> None:
        while (waiting := await self._waiting.get()) is not None:
            place, text = waiting
            request_id = await session.send(text, self._options)
            self._places[request_id] = place
            self._timeline.sent(place)
        session.finish()

    async def _receive(self, session: Session) -> None:
        async for event in session.events():
            await self._take(event)

    async def _take(self, item: RequestEvent) -> None:
        place = self._places.get(item.request_id or "")
        match item.event:
            case ErrorEvent(code=ErrorCode.TEXT_EMPTY) if place is not None:  # only code or emoji: nothing to say
                self._answered(item.request_id, place)
            case ErrorEvent() as error:
                raise SpeechRequestError(error.code, error.message, retryable=error.retryable)
            case SynthesisCancelled():
                raise SpeechRequestError(ErrorCode.CANCELLED, "the speech server stopped speaking", retryable=True)
            case _ if place is None:
                pass
            case SynthesisStart(sample_rate=sample_rate_hz):
                await self._tell(self._audio.started(sample_rate_hz))
            case Audio(data=data):
                await self._tell(self._audio.heard(place, data))
            case Timestamps(words=words):
                await self._tell(self._audio.words(place, words))
            case SynthesisComplete():
                self._answered(item.request_id, place)

    def _answered(self, request_id: str | None, place: int) -> None:
        del self._places[request_id or ""]
        self._audio.done(place)

    async def _settle(self, error: AgentErrorEvent | None = None) -> None:
        await self._tell(self._audio.ended())
        if error is not None:
            await self._emit(error)
        self.settled.set()
        while not self._waiting.empty():  # a writer that waits for room must not wait for ever
            self._waiting.get_nowait()

    async def _fail(self, error: SpeechError) -> None:
        if self.settled.is_set():
            _log.warning("speech session did not close in order", exc_info=error)
            return
        event = _error_event(error)
        _log.warning("speech failed", extra={"code": event.code}, exc_info=error)
        await self._settle(event)

    async def _tell(self, events: Iterable[AgentEvent]) -> None:
        for event in events:
            await self._emit(event)


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
