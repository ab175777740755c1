"""One answer from the first token to the last sample: what `bidi` and `batch` have in common, which is all but the
cutting.

One task reads the model's text and hands over what is to be spoken, the other speaks it; both put events on the one
bounded queue of `relay`.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Protocol

from speech_text import SpeakableFilter

from .answer_audio import AnswerAudio
from .errors import ModelError
from .events import AgentEnd, AgentErrorEvent, AgentEvent, AgentStart, TextDelta
from .relay import DEFAULT_QUEUED_EVENTS, Emit, relay
from .request import AgentRequest
from .timeline import Clock, Timeline
from .voice import OpenSession, Voice

_log = logging.getLogger(__name__)

Write = Callable[[str], AsyncGenerator[str]]  # a prompt → the answer as it is written; raises ModelError


class Cutter(Protocol):
    """Cuts text into verbatim pieces to be spoken, as `speech_text.IncrementalSentenceChunker` does."""

    def feed(self, delta: str) -> list[str]: ...

    def flush(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What a turn is made with; tests put scripted ones here. `clock` is in seconds and never goes back."""

    write: Write
    open_session: OpenSession
    clock: Clock = time.monotonic
    queued_events: int = DEFAULT_QUEUED_EVENTS


def run_turn(
    request: AgentRequest, services: Services, cutter: Cutter, request_id: str | None = None
) -> AsyncGenerator[AgentEvent]:
    """The events of one answer. Closing the generator ends the model's stream and the speech session."""
    turn = _Turn(request, services, cutter, request_id or str(uuid.uuid4()))
    return relay(turn.run, services.queued_events)


class _Turn:
    def __init__(self, request: AgentRequest, services: Services, cutter: Cutter, request_id: str) -> None:
        self._request = request
        self._services = services
        self._cutter = cutter
        self._request_id = request_id
        self._timeline = Timeline(services.clock)
        self._filter = SpeakableFilter()

    async def run(self, emit: Emit) -> None:
        timeline, request = self._timeline, self._request
        await emit(AgentStart(self._request_id, request.mode))
        audio = AnswerAudio(request.format, timeline)
        voice = Voice(self._services.open_session, request.voice_options, audio, timeline, emit)
        async with asyncio.TaskGroup() as tasks:
            speaking = tasks.create_task(voice.run())
            failure = await self._write(voice, emit)
            if timeline.sentences:
                await voice.settled.wait()
            else:
                speaking.cancel()  # nothing to say: not even the session's opening is waited for
            await emit(failure or self._end())

    async def _write(self, voice: Voice, emit: Emit) -> AgentErrorEvent | None:
        """Deliver the text and hand over its sentences. Returns what the caller is told if the model fails."""
        try:
            async with contextlib.aclosing(self._services.write(self._request.prompt)) as deltas:
                count = 0
                async for delta in deltas:
                    self._timeline.wrote(delta)
                    await emit(TextDelta(count, delta))
                    count += 1
                    await self._say(voice, self._cutter.feed(delta))
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
                await voice.say(place, spoken)

    def _end(self) -> AgentEnd:
        timeline = self._timeline
        return AgentEnd(timeline.first_text_ms, timeline.first_audio_ms, timeline.now_ms, timeline.sentences)
