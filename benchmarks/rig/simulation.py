"""The same listeners with a simulated engine of any speed, on a clock that jumps from event to event.

What is measured on a machine depends on how fast that is, and on what else it does meanwhile. Here the scheduler that
the server runs, with its default settings, and a lock around each message serve the same listeners with an engine that
takes `real_time_factor` seconds for a second of audio, one sentence at a time. Nothing else takes any time.
"""

import heapq
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from speech_container.playback import underruns
from speech_container.scheduler import Scheduler, Step
from speech_container.settings import Settings

from .listener import Heard

CHARS_A_SECOND: Final = 15.5
"""What Kokoro's af_heart speaks of these texts."""
_PHONEMES_A_SECOND: Final = 15
_SENTENCE_END: Final = re.compile(r"(?<=\.) ")
_DEFAULTS: Final = Settings()

Texts = Sequence[Sequence[str]]
"""Of each listener, what it asks for, one after the other."""


@dataclass(slots=True)
class _Request:
    """One text that was asked for, and when which of its sentences came."""

    listener: int
    asked_s: float
    sentences_s: tuple[float, ...]
    arrivals: list[tuple[float, float]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return len(self.arrivals) == len(self.sentences_s)

    def came(self, at_s: float) -> None:
        self.arrivals.append((at_s, self.sentences_s[len(self.arrivals)]))

    @property
    def heard(self) -> Heard:
        _, silence_s = underruns(self.arrivals)
        first_audio_s = self.arrivals[0][0] - self.asked_s
        return Heard(self.listener, self.asked_s, first_audio_s, silence_s, sum(self.sentences_s), queue_s=math.nan)


class _Crowd:
    """Listeners who ask for their texts, each when it has heard the one before."""

    def __init__(self, starts_s: Sequence[float], texts: Texts) -> None:
        self._left = [iter(each) for each in texts]
        self.heard: list[Heard] = []
        self.asking = [(starts_s, listener) for listener, starts_s in enumerate(starts_s)]
        """When who will ask; a heap."""
        heapq.heapify(self.asking)

    def ask(self) -> _Request | None:
        """Whoever is next asks now; None if it has no more texts."""
        at_s, listener = heapq.heappop(self.asking)
        text = next(self._left[listener], None)
        if text is None:
            return None
        return _Request(listener, at_s, tuple(len(part) / CHARS_A_SECOND for part in _SENTENCE_END.split(text)))

    def answered(self, request: _Request) -> None:
        """All of it has come, and will be heard."""
        heard = request.heard
        self.heard.append(heard)
        heapq.heappush(self.asking, (heard.asked_s + heard.took_s, heard.listener))


def with_one_lock(starts_s: Sequence[float], texts: Texts, real_time_factor: float) -> list[Heard]:
    """First come, first served; the lock is held until a text's last sentence is made."""
    crowd = _Crowd(starts_s, texts)
    free_s = 0.0
    while crowd.asking:
        request = crowd.ask()
        if request is None:
            continue
        free_s = max(free_s, request.asked_s)
        for audio_s in request.sentences_s:
            free_s += audio_s * real_time_factor
            request.came(free_s)
        crowd.answered(request)
    return crowd.heard


def with_scheduler(starts_s: Sequence[float], texts: Texts, real_time_factor: float) -> list[Heard]:
    """The server's scheduler, told of every event at its time. Nobody is refused, however long the wait."""
    scheduler = Scheduler(max_batch=1, max_waiting=_DEFAULTS.max_waiting_segments, look_ahead_s=_DEFAULTS.look_ahead_s)
    crowd = _Crowd(starts_s, texts)
    requests: dict[int, _Request] = {}
    order = itertools.count()
    events: list[tuple[float, int, Step | None]] = []  # the end of a step, or a moment to look again
    while crowd.asking or events:
        if not events or (crowd.asking and crowd.asking[0][0] <= events[0][0]):
            now_s = crowd.asking[0][0]
            request = crowd.ask()
            if request is not None:
                phonemes = [round(audio_s * _PHONEMES_A_SECOND) for audio_s in request.sentences_s]
                requests[scheduler.submitted(request.listener, phonemes, now_s)] = request
        else:
            now_s, _, step = heapq.heappop(events)
            if step is not None:
                (piece,) = step.pieces
                request = requests[piece.job]
                audio_s = request.sentences_s[piece.index]
                scheduler.step_finished([audio_s], now_s)
                request.came(now_s)
                scheduler.delivered(piece.job, audio_s, now_s)
                if request.is_whole:
                    crowd.answered(request)
        decision = scheduler.tick(now_s)
        if isinstance(decision, Step):
            (piece,) = decision.pieces
            took_s = requests[piece.job].sentences_s[piece.index] * real_time_factor
            heapq.heappush(events, (now_s + took_s, next(order), decision))
        elif decision.at_s is not None:
            heapq.heappush(events, (decision.at_s, next(order), None))
    return crowd.heard
