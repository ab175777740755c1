"""Whose segment is synthesised next: a state that is told what happened and says what to do, without clock or thread.

A job is one request, a listener is whoever hears its jobs one after the other (a session, or one HTTP request). The
rules: a listener's jobs run in the order they came, segment by segment; a listener has at most one segment in a step;
nobody gets more than `look_ahead_s` of audio ahead of what was sent to it. Among those who may run, whoever has no
audio waiting goes first, then whoever was served longest ago.

Admission counts what the engine could be busy with: of each listener, the segments that would bring it to its
look-ahead. A listener who is that far ahead waits for nobody, however long the rest of its text is, so it takes no
place from the others; its own queue is bounded instead. All is counted from the jobs themselves, so there is no slot
to leak.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from .errors import QueueFull

_FIRST_ESTIMATE_S: Final = 0.5  # of one step, before any has been measured
_FIRST_SEGMENT_S: Final = 2.0  # of audio in one segment, before any has been made: a short sentence
_LEAST_SEGMENT_S: Final = 0.1
_SMOOTHING: Final = 0.2
_HELD_FACTOR: Final = 32  # segments in memory, in queues: so many listeners may have as much as one listener may
_RETRY_RANGE_S: Final = (0.5, 30.0)


@dataclass(frozen=True, slots=True)
class Piece:
    """One segment of one job."""

    job: int
    index: int


@dataclass(slots=True)
class _Job:
    segments: int
    started: int = 0
    ahead_s: float = 0.0  # made and not yet sent


@dataclass(slots=True)
class _Listener:
    jobs: dict[int, _Job] = field(default_factory=dict)  # in order of arrival
    last_turn: int = 0
    in_step: bool = False

    @property
    def ahead_s(self) -> float:
        return sum(job.ahead_s for job in self.jobs.values())

    @property
    def waiting(self) -> int:
        """The segments that no step has taken yet."""
        return sum(job.segments - job.started for job in self.jobs.values())

    @property
    def pending(self) -> list[int]:
        """The jobs with a piece that no step has taken, oldest first."""
        return [number for number, job in self.jobs.items() if job.started < job.segments]


class Scheduler:
    """See the module. Not safe for use from two threads at once; the owner of the engine locks around it."""

    def __init__(self, *, max_batch: int, max_waiting: int, look_ahead_s: float) -> None:
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._look_ahead_s = look_ahead_s
        self._listeners: dict[int, _Listener] = {}
        self._listener_of: dict[int, int] = {}
        self._jobs_seen = 0
        self._turns = 0
        self._step_s = _FIRST_ESTIMATE_S
        self._segment_s = _FIRST_SEGMENT_S

    @property
    def jobs(self) -> int:
        """The jobs that have not ended."""
        return len(self._listener_of)

    @property
    def waiting(self) -> int:
        """The segments that no step has taken yet."""
        return sum(listener.waiting for listener in self._listeners.values())

    @property
    def claimed(self) -> int:
        """The segments that would bring every listener to its look-ahead: the engine's work for now."""
        return sum(self._claim(listener.waiting, listener.ahead_s) for listener in self._listeners.values())

    def submit(self, listener: int, segments: int) -> int:
        """Take a job of `segments` segments and give it a number. Raises `QueueFull`.

        Full is the engine's work for now, this listener's own queue, or the memory for all of them. A job that is
        longer than a queue is taken when nothing else is in it, because it would never fit later.
        """
        limit = self._max_waiting
        own = self._listeners[listener].waiting if listener in self._listeners else 0
        uses = (
            (self.claimed, self._claim(segments), limit),
            (own, segments, limit),
            (self.waiting, segments, limit * _HELD_FACTOR),
        )
        if any(used and used + more > room for used, more, room in uses):
            low, high = _RETRY_RANGE_S
            estimate_s = max(own, self.claimed) / 2 * self._step_s / self._max_batch
            raise QueueFull(min(max(low, estimate_s), high))
        self._jobs_seen += 1
        self._listeners.setdefault(listener, _Listener()).jobs[self._jobs_seen] = _Job(segments)
        self._listener_of[self._jobs_seen] = listener
        return self._jobs_seen

    def next_step(self) -> tuple[Piece, ...]:
        """The pieces to synthesise now, most urgent first; none where nobody needs or may have more."""
        ready = [listener for listener in self._listeners.values() if self._may_run(listener)]
        ready.sort(key=lambda listener: (listener.ahead_s > 0, listener.last_turn))
        return tuple(self._take(listener) for listener in ready[: self._max_batch])

    def finished(self, step: Sequence[Piece], audio_s: Sequence[float], took_s: float) -> None:
        """A step is done: `audio_s` seconds of audio for each piece, made in `took_s`."""
        self._step_s += _SMOOTHING * (took_s - self._step_s)
        for piece, made_s in zip(step, audio_s, strict=True):
            listener = self._listener(piece.job)
            if listener is not None:
                listener.in_step = False
                listener.jobs[piece.job].ahead_s += made_s
                self._segment_s += _SMOOTHING * (made_s - self._segment_s)

    def delivered(self, job: int, audio_s: float) -> None:
        """`audio_s` seconds of the job's audio have been sent."""
        listener = self._listener(job)
        if listener is not None:
            listener.jobs[job].ahead_s = max(0.0, listener.jobs[job].ahead_s - audio_s)

    def end(self, job: int) -> None:
        """The job was delivered, cancelled or has failed: no step takes a piece of it. Ending twice is fine."""
        number = self._listener_of.pop(job, None)
        if number is None:
            return
        listener = self._listeners[number]
        del listener.jobs[job]
        listener.in_step = False
        if not listener.jobs:
            del self._listeners[number]

    def _claim(self, segments: int, ahead_s: float = 0.0) -> int:
        """How many of a listener's `segments` it takes to bring it from `ahead_s` to its look-ahead."""
        room_s = max(0.0, self._look_ahead_s - ahead_s)
        return min(segments, math.ceil(room_s / max(_LEAST_SEGMENT_S, self._segment_s)))

    def _listener(self, job: int) -> _Listener | None:
        number = self._listener_of.get(job)
        return None if number is None else self._listeners[number]

    def _may_run(self, listener: _Listener) -> bool:
        return not listener.in_step and listener.ahead_s < self._look_ahead_s and bool(listener.pending)

    def _take(self, listener: _Listener) -> Piece:
        number = listener.pending[0]
        self._turns += 1
        listener.last_turn = self._turns
        listener.in_step = True
        job = listener.jobs[number]
        job.started += 1
        return Piece(number, job.started - 1)
