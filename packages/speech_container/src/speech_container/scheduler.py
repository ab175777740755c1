"""Whose segments are synthesised next: a state that is told what happened and when, and says what to do. No clock.

A job is one request, a listener is whoever hears its jobs one after the other (a session, or one HTTP request). Audio
is heard as fast as it is spoken, so for every listener there is a moment at which it runs dry: the audio it was sent
lasts until then, counted from when it was sent, and what was made and not yet sent comes on top. That moment, or the
arrival of a request for whoever has nothing to hear, is the one number by which segments are ordered. Nobody starves:
once that moment has passed, whoever comes later or has been served since has a later one, so every other listener
goes first at most once more.

A listener's segments run in the order they came, and no further than `look_ahead_s` ahead of what it has had time to
hear and of what was sent to it. An engine that takes several waits for company, `batch_window_s` at most. A step holds
one segment of each listener; where nobody in it has run dry, what room is left goes to their next ones, which keeps
the engine free for whoever comes next (docs/fairness.md has the numbers).

A job of low latency is made `in_chunks`: a step makes one chunk of its segment, says what is to come, and the next
chunk stands in line as a segment does, by when its listener runs dry. So a long sentence never holds the engine, and
whoever has nothing to hear goes between two of its chunks.

Admission counts what the engine could be busy with: of each listener, the segments that would bring it to its
look-ahead. A listener who is that far ahead waits for nobody, however long the rest of its text is, so it takes no
place from the others; its own queue is bounded instead. All is counted from the jobs themselves, so there is no slot
to leak or to release twice.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Final

from .errors import QueueFull
from .listener import SILENCE_S, Job, Listener, Piece
from .pace import Pace

_HELD_FACTOR: Final = 32  # segments in memory, in queues: so many listeners may have as much as one listener may
_LEAST_SEGMENT_S: Final = 0.1
_RETRY_RANGE_S: Final = (0.1, 60.0)
_BY_URGENCY: Final = attrgetter("dry_s", "number")  # whoever runs dry first, then whose job came first


@dataclass(frozen=True, slots=True)
class Step:
    """Synthesise these together, most urgent first, and tell `step_finished`."""

    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing to do: call `tick` after the next thing that happens, and at `at_s` (None: there is no such time)."""

    at_s: float | None


@dataclass(slots=True)
class _Candidate:
    """A listener's next segment, or the next chunk of one."""

    dry_s: float  # where it has nothing to hear: since when it waits
    number: int
    job: Job
    unsent_s: float
    opens_s: float  # from when on it may run

    def take(self) -> Piece:
        return self.job.take(self.number)


class Scheduler:
    """See the module. All times are seconds on one clock that never goes back.

    `fills_steps`: whether room in a step goes to further segments of those who are in it; off only for comparison.
    Not safe for use from two threads at once; the owner of the engine locks around it.
    """

    def __init__(
        self,
        *,
        max_batch: int,
        max_waiting: int,
        look_ahead_s: float,
        batch_window_s: float = 0.0,
        max_wait_s: float = math.inf,
        fills_steps: bool = True,
    ) -> None:
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._look_ahead_s = look_ahead_s
        self._batch_window_s = batch_window_s if max_batch > 1 else 0.0
        self._max_wait_s = max_wait_s
        self._fills_steps = fills_steps
        self._listeners: dict[int, Listener] = {}  # those with jobs
        self._resting: dict[int, float] = {}  # those without, who still hear something, and until when
        self._listener_of: dict[int, int] = {}
        self._jobs_seen = 0
        self._pace = Pace()
        self._step: Step | None = None
        self._step_phonemes: list[float] = []  # of each piece; of a first chunk, its whole segment's
        self._step_begun_s = 0.0
        self._step_takes_s = 0.0  # as estimated

    @property
    def jobs(self) -> int:
        """The jobs that are neither delivered nor cancelled."""
        return len(self._listener_of)

    @property
    def waiting(self) -> int:
        """The segments that no step has taken yet."""
        return sum(job.waiting for listener in self._listeners.values() for job in listener.jobs.values())

    @property
    def listeners(self) -> int:
        """The listeners that are remembered: with jobs, or with audio that they are still hearing."""
        return len(self._listeners) + len(self._resting)

    def submitted(
        self, listener: int, phonemes: Sequence[int], now_s: float, *, paced: bool = True, in_chunks: bool = False
    ) -> int:
        """Take a job with one segment for each of `phonemes` (how many it has), and give it a number.

        `paced`: the audio is played as it comes, so it need not be made long before; a file need not wait for that.
        `in_chunks`: a step may make a part of a segment and say what is to come.
        Raises `QueueFull` where this listener would hear nothing for too long, or where the engine's work for now, this
        listener's own queue, or the memory for all of them is full. A job that is longer than a queue is taken when
        nothing else is in it, because it would never fit later.
        """
        found = self._listeners.get(listener) or Listener(self._resting.get(listener, -math.inf))
        self._require_room(found, phonemes, now_s)
        silence_s = self.wait_s(now_s) - max(0.0, found.dry_s(found.unsent_s) - now_s)
        if silence_s > self._max_wait_s:
            raise _full(silence_s - self._max_wait_s)
        self._jobs_seen += 1
        self._resting.pop(listener, None)
        self._listeners[listener] = found
        self._listener_of[self._jobs_seen] = listener
        found.jobs[self._jobs_seen] = Job(tuple(phonemes), now_s, paced, in_chunks)
        return self._jobs_seen

    def claimed(self, now_s: float) -> int:
        """The segments that would bring every listener to its look-ahead: the engine's work for now."""
        return sum(self._claim(listener, now_s) for listener in self._listeners.values())

    def tick(self, now_s: float) -> Step | Wake:
        """What to do now. While a step runs there is nothing to do."""
        self._forget(now_s)
        if self._step is not None:
            return Wake(None)
        candidates = sorted(self._candidates(), key=_BY_URGENCY)
        ready = [candidate for candidate in candidates if candidate.opens_s <= now_s]
        wake_s = min((candidate.opens_s for candidate in candidates if candidate.opens_s > now_s), default=math.inf)
        if ready and len(ready) < self._max_batch:
            window_ends_s = min(candidate.opens_s for candidate in ready) + self._batch_window_s
            if window_ends_s > now_s:
                return Wake(min(window_ends_s, wake_s))
        if ready:
            return self._begin(ready[: self._max_batch], now_s)
        return Wake(wake_s if wake_s < math.inf else None)

    def step_finished(
        self, audio_s: Sequence[float | None], now_s: float, to_come_s: Sequence[tuple[float, ...]] | None = None
    ) -> None:
        """The step is done: seconds of audio for each of its pieces, or None for one that failed and ends its job.

        `to_come_s`: for each piece, the audio of every chunk that is left of its segment, the next one first. None:
        they were whole segments.
        """
        if self._step is None:
            raise RuntimeError("no step is running; step_finished answers a Step that tick has returned")
        pieces, self._step = self._step.pieces, None
        rests_s = [()] * len(pieces) if to_come_s is None else to_come_s
        for piece, made_s, rest_s in zip(pieces, audio_s, rests_s, strict=True):
            listener = self._listener(piece.job)
            if listener is None:
                continue
            listener.free_s = now_s
            if made_s is None:
                self._remove(piece.job, now_s)
                continue
            if listener.unsent_s < SILENCE_S:
                listener.unsent_since_s = now_s
            job = listener.jobs[piece.job]
            job.took(made_s, rest_s)
            if job.is_delivered:
                self._remove(piece.job, now_s)
        self._learn(pieces, audio_s, rests_s, now_s - self._step_begun_s)

    def delivered(self, job: int, audio_s: float, now_s: float) -> None:
        """`audio_s` seconds of the job's audio have been sent. A job of which everything was sent has ended."""
        listener = self._listener(job)
        if listener is None:
            return
        entry = listener.jobs[job]
        if listener.unsent_s >= self._look_ahead_s:
            listener.free_s = now_s
        sent_s = min(audio_s, entry.unsent_s)
        entry.unsent_s -= sent_s
        listener.sent_until_s = max(listener.sent_until_s, now_s) + sent_s
        if entry.is_delivered:
            self._remove(job, now_s)

    def cancelled(self, job: int, now_s: float) -> None:
        """No step takes a piece of this job any more. Fine for one that has ended.

        Where it is the job that its listener was to hear next, or hears already, the listener is `interrupted`: the
        sound stops, whichever request it was of.
        """
        listener = self._listener(job)
        if listener is None:
            return
        if next(iter(listener.jobs)) == job:
            listener.sent_until_s = min(listener.sent_until_s, now_s)
        self._remove(job, now_s)

    def interrupted(self, listener: int, now_s: float) -> None:
        """The listener does not listen any more to what was sent: it is dry now. Its jobs go on."""
        self._resting.pop(listener, None)
        found = self._listeners.get(listener)
        if found is not None:
            found.sent_until_s = min(found.sent_until_s, now_s)

    def disconnected(self, listener: int) -> tuple[int, ...]:
        """The listener is gone: forget it, and cancel its jobs, which are returned."""
        self._resting.pop(listener, None)
        found = self._listeners.pop(listener, None)
        jobs = () if found is None else tuple(found.jobs)
        for job in jobs:
            del self._listener_of[job]
        return jobs

    def wait_s(self, now_s: float) -> float:
        """About how long a newcomer's first segment would wait for its step to begin."""
        ahead = [each for each in self._candidates() if each.dry_s <= now_s and each.opens_s <= now_s]
        full_steps = len(ahead) // self._max_batch
        if not full_steps:
            return self._step_left_s(now_s)
        phonemes = sum(map(self._next_phonemes, ahead)) * full_steps * self._max_batch / len(ahead)
        return self._step_left_s(now_s) + self._pace.takes_s(phonemes, self._max_batch)

    def _candidates(self) -> Iterator[_Candidate]:
        """The next segment of every listener that has one and has none in the step that runs."""
        busy = {self._listener_of.get(piece.job) for piece in self._step.pieces} if self._step else set()
        for name, listener in self._listeners.items():
            head = listener.head
            if head is not None and name not in busy:
                number, job = head
                unsent_s = listener.unsent_s
                dry_s = listener.dry_s(unsent_s)
                opens_s = max(job.submitted_s, listener.free_s)
                if unsent_s >= self._look_ahead_s:
                    opens_s = math.inf
                elif job.paced:
                    opens_s = max(opens_s, dry_s - self._look_ahead_s)
                yield _Candidate(max(dry_s, job.submitted_s), number, job, unsent_s, opens_s)

    def _begin(self, chosen: Sequence[_Candidate], now_s: float) -> Step:
        phonemes = [each.job.next_phonemes(first_share=1.0) for each in chosen]
        expected = [self._next_phonemes(each) for each in chosen]
        rooms_s = [
            self._room_ahead_s(each, now_s) - self._pace.lasts_s(part)
            for each, part in zip(chosen, expected, strict=True)
        ]
        pieces = [each.take() for each in chosen]
        took_one = self._fills_steps and chosen[0].dry_s > now_s  # they are in order: then nobody is dry
        while took_one:
            took_one = False
            for index, each in enumerate(chosen):
                may_go_on = each.job.waiting and not each.job.in_chunks  # whose next chunk needs the one before it
                if len(pieces) < self._max_batch and may_go_on and rooms_s[index] > 0:
                    phonemes.append(self._next_phonemes(each))
                    expected.append(phonemes[-1])
                    rooms_s[index] -= self._pace.lasts_s(phonemes[-1])
                    pieces.append(each.take())
                    took_one = True
        self._step, self._step_phonemes, self._step_begun_s = Step(tuple(pieces)), phonemes, now_s
        self._step_takes_s = self._pace.takes_s(sum(expected), len(pieces))
        return self._step

    def _learn(
        self,
        pieces: Sequence[Piece],
        audio_s: Sequence[float | None],
        rests_s: Sequence[tuple[float, ...]],
        took_s: float,
    ) -> None:
        """What a step tells of the engine's pace, unless a piece of it has failed."""
        phonemes = 0.0
        total_s = 0.0
        for piece, made_s, rest_s, counted in zip(pieces, audio_s, rests_s, self._step_phonemes, strict=True):
            if made_s is None:
                return
            total_s += made_s
            if piece.part or not rest_s:
                phonemes += counted
            else:
                phonemes += counted * made_s / (made_s + sum(rest_s))
                self._pace.opened(made_s, made_s + sum(rest_s))
        self._pace.measured(len(pieces), phonemes, took_s, total_s)

    def _next_phonemes(self, candidate: _Candidate) -> float:
        return candidate.job.next_phonemes(self._pace.first_share)

    def _room_ahead_s(self, candidate: _Candidate, now_s: float) -> float:
        """How much more audio may be made for this listener now."""
        unheard_s = candidate.dry_s - now_s if candidate.job.paced else 0.0
        return self._look_ahead_s - max(unheard_s, candidate.unsent_s)

    def _step_left_s(self, now_s: float) -> float:
        if self._step is None:
            return 0.0
        return max(0.0, self._step_begun_s + self._step_takes_s - now_s)

    def _require_room(self, listener: Listener, phonemes: Sequence[int], now_s: float) -> None:
        everybody, limit = self._listeners.values(), self._max_waiting
        claims = self._claim(listener, now_s, phonemes) - self._claim(listener, now_s)
        own = sum(job.waiting for job in listener.jobs.values())
        for whose, used, more, room in (
            (everybody, self.claimed(now_s), claims, limit),
            ((listener,), own, len(phonemes), limit),
            (everybody, self.waiting, len(phonemes), limit * _HELD_FACTOR),
        ):
            if used and more and used + more > room:
                raise _full(self._room_s(whose, min(used, used + more - room), now_s))

    def _claim(self, listener: Listener, now_s: float, more: Sequence[int] = ()) -> int:
        """How many of the listener's segments, and of `more`, it takes to bring it to its look-ahead."""
        unsent_s = listener.unsent_s
        room_s = self._look_ahead_s - max(unsent_s, listener.dry_s(unsent_s) - now_s)
        claimed = 0
        for phonemes in chain((phonemes for _, phonemes in listener.queue), map(float, more)):
            if room_s <= 0:
                break
            room_s -= max(_LEAST_SEGMENT_S, self._pace.lasts_s(phonemes))
            claimed += 1
        return claimed

    def _room_s(self, whose: Iterable[Listener], excess: int, now_s: float) -> float:
        """About how long until `excess` of the waiting segments have begun: the engine must get to them, and their
        listeners must have heard enough to be let have them."""
        opens_s: list[float] = []
        total = 0.0
        for listener in whose:
            dry_s = max(now_s, listener.dry_s(listener.unsent_s))
            for job, phonemes in listener.queue:
                opens_s.append(dry_s - self._look_ahead_s if job.paced else now_s)
                dry_s += self._pace.lasts_s(phonemes)
                total += phonemes
        opens_s.sort()
        engine_s = self._pace.takes_s(total * excess / len(opens_s), self._max_batch)
        return max(opens_s[excess - 1] - now_s, self._step_left_s(now_s) + engine_s)

    def _listener(self, job: int) -> Listener | None:
        name = self._listener_of.get(job)
        return None if name is None else self._listeners[name]

    def _remove(self, job: int, now_s: float) -> None:
        name = self._listener_of.pop(job)
        listener = self._listeners[name]
        del listener.jobs[job]
        if not listener.jobs:
            del self._listeners[name]
            if listener.sent_until_s > now_s:
                self._resting[name] = listener.sent_until_s

    def _forget(self, now_s: float) -> None:
        """Drop whoever has heard everything. The oldest first; nobody rests for longer than the look-ahead lasts."""
        for name, until_s in list(self._resting.items()):
            if until_s > now_s:
                return
            del self._resting[name]


def _full(retry_after_s: float) -> QueueFull:
    low_s, high_s = _RETRY_RANGE_S
    return QueueFull(min(max(low_s, retry_after_s), high_s))
