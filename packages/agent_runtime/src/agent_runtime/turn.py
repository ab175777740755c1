"""One answer from the first token to the last sample: what `bidi` and `batch` have in common, which is all but the
cutting.

One task reads the model's text and hands over what is to be spoken, the other speaks it; both put events on the one
bounded queue of `relay`. When the turn is over, however that came, the conversation remembers what was heard of it.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from speech_text import SpeakableFilter

from .answer_audio import AnswerAudio
from .conversation import Conversation
from .errors import ModelError
from .events import AgentCancelled, AgentEnd, AgentErrorEvent, AgentEvent, AgentStart, AudioChunk, TextDelta
from .memory import Exchange
from .relay import DEFAULT_QUEUED_EVENTS, Emit, Relay
from .request import AgentRequest
from .timeline import Clock, Timeline
from .transcript import Transcript
from .voice import Timing, Voice
from .writer import Pause, Write

MAX_DELTA_CHARS: Final = 2_000  # every character escaped, it still fits a WebSocket frame of 32 KiB
_PARAGRAPH: Final = "\n\n"

_log = logging.getLogger(__name__)


class Cutter(Protocol):
    """Cuts text into verbatim pieces to be spoken, as `speech_text.IncrementalSentenceChunker` does."""

    def feed(self, delta: str) -> list[str]: ...

    def flush(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What turns are made with; tests put scripted ones here. `clock` is in seconds and never goes back."""

    write: Write
    clock: Clock = time.monotonic
    queued_events: int = DEFAULT_QUEUED_EVENTS
    timing: Timing = field(default_factory=Timing)


class Turn:
    """One question and its answer. `events` is iterated once; closing it ends the model's stream and the voice."""

    def __init__(
        self,
        request: AgentRequest,
        conversation: Conversation,
        services: Services,
        cutter: Cutter,
        request_id: str | None = None,
    ) -> None:
        self.request_id = request_id or str(uuid.uuid4())
        self._request = request
        self._conversation = conversation
        self._write = services.write
        self._clock = services.clock
        self._timing = services.timing
        self._cutter = cutter
        self._timeline = Timeline(services.clock)
        self._transcript = Transcript()
        self._filter = SpeakableFilter()
        self._relay = Relay(self._run, services.queued_events)
        self._voice: Voice | None = None
        self._has_said = False
        self._heard_since_s: float | None = None
        self._delivered_s = 0.0
        self._played_s: float | None = None  # as an interruption has it
        self._is_interrupted = False
        self._is_over = False
        self._is_whole = False  # the listener was left with all of the text
        self._remembered: Exchange | None = None

    async def events(self) -> AsyncGenerator[AgentEvent]:
        """The events of the answer (see `events`)."""
        try:
            async with contextlib.aclosing(self._relay.events()) as events:
                async for event in events:
                    if isinstance(event, AudioChunk):
                        self._delivers(event)
                    self._is_whole = isinstance(event, AgentEnd | AgentErrorEvent)
                    yield event
            if self._is_interrupted:
                yield self._cancelled()
        finally:
            self._end()

    def interrupt(self, played_s: float | None = None) -> AgentCancelled | None:
        """The listener wants no more, having heard `played_s` of the audio; None where the caller cannot tell.

        A turn that goes on ends with `agent_cancelled` among its events. Of one whose events have all been delivered,
        but perhaps not all been played, this returns it. None also for a turn that was interrupted before.
        """
        if self._is_interrupted:
            return None
        self._is_interrupted = True
        self._played_s = played_s
        if self._is_over:
            cancelled = self._cancelled()
            if self._remembered is not None:
                self._remembered.answer = cancelled.text_spoken
            return cancelled
        if self._voice is not None:
            self._voice.keep_session()
        self._relay.interrupt()
        return None

    async def _run(self, emit: Emit) -> None:
        timeline, request = self._timeline, self._request
        await emit(AgentStart(self.request_id, request.mode))
        audio = AnswerAudio(request.format, timeline)
        speech, options = self._conversation.speech, request.voice_options
        self._voice = voice = Voice(speech, options, audio, timeline, self._transcript, emit, self._timing)
        async with asyncio.TaskGroup() as tasks:
            speaking = tasks.create_task(voice.run())
            failure = await self._deliver_text(voice, emit)
            if self._has_said:
                await voice.settled.wait()
            else:
                voice.keep_session()
                speaking.cancel()  # nothing to say: not even the session's opening is waited for
            await emit(failure or self._summary())

    async def _deliver_text(self, voice: Voice, emit: Emit) -> AgentErrorEvent | None:
        """Deliver the text and hand over its sentences. Returns what the caller is told if the model fails."""
        remarks = self._conversation.memory.remarks(self._request.prompt)
        paused = False
        seq = 0
        try:
            async with contextlib.aclosing(self._write(remarks)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, Pause):
                        paused = paused or bool(self._timeline.text)
                        if self._request.mode == "bidi":
                            await self._say(voice, self._cutter.flush())
                        continue
                    text = delta
                    if paused and delta.strip():
                        paused = False
                        text = _PARAGRAPH + delta.lstrip()  # a model leaves out what would part the two texts
                    for part in _parts(text):
                        self._timeline.wrote(part)
                        await emit(TextDelta(seq, part))
                        seq += 1
                        await self._say(voice, self._cutter.feed(part))
        except ModelError as error:  # what was cut off in mid sentence is not spoken
            _log.warning("model failed", extra={"code": error.code}, exc_info=error)
            await voice.finish()
            return AgentErrorEvent(error.code, error.message)
        await self._say(voice, self._cutter.flush())
        await voice.finish()
        return None

    async def _say(self, voice: Voice, sentences: list[str]) -> None:
        """Hand over all but what lies inside a code block, which may reach over many sentences."""
        for sentence in sentences:
            place = self._timeline.add(sentence)
            if spoken := self._filter.outside_code(sentence):
                self._has_said = True
                await voice.say(place, spoken)

    def _summary(self) -> AgentEnd:
        timeline = self._timeline
        return AgentEnd(timeline.first_text_ms, timeline.first_audio_ms, timeline.now_ms, timeline.sentences)

    def _delivers(self, chunk: AudioChunk) -> None:
        if self._heard_since_s is None:
            self._heard_since_s = self._clock()
        self._delivered_s = chunk.end_s

    def _cancelled(self) -> AgentCancelled:
        heard_s = self._heard_s()
        text = self._timeline.text
        chars = self._chars_heard(heard_s)
        return AgentCancelled(self.request_id, text[:chars], text[chars:], round(heard_s, 3))

    def _heard_s(self) -> float:
        """How much of the audio has been heard, or can have been: at most what was delivered, and as long ago."""
        if self._heard_since_s is None:
            return 0.0
        played_s = self._clock() - self._heard_since_s if self._played_s is None else self._played_s
        return max(0.0, min(played_s, self._delivered_s))

    def _chars_heard(self, heard_s: float) -> int:
        text = self._timeline.text
        is_mute = self._heard_since_s is None and self._voice is not None and self._voice.has_failed
        if is_mute or (self._is_whole and heard_s >= self._delivered_s):
            return len(text)  # read, or heard to the end; what follows the last sentence makes no sound
        return self._transcript.chars_heard(heard_s)

    def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        text = self._timeline.text
        if self._is_interrupted or not self._is_whole:
            text = text[: self._chars_heard(self._heard_s())]
        if not text and not self._is_interrupted:
            return  # nothing came of it: as if it had not been asked
        self._remembered = self._conversation.memory.remember(self._request.prompt, text)


def _parts(delta: str) -> Iterator[str]:
    """`delta` in pieces that fit a frame; nearly always itself."""
    return (delta[at : at + MAX_DELTA_CHARS] for at in range(0, len(delta), MAX_DELTA_CHARS))
