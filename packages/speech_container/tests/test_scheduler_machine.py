"""The scheduler, whatever happens: nobody waits for too long, and nothing is lost or left."""

import math
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from speech_container.errors import QueueFull
from speech_container.listener import Piece
from speech_container.scheduler import Scheduler, Step, Wake

from packages.speech_container.tests.desk import FOR_EVER_S, Desk


@dataclass
class Wait:
    """One segment: when it might first have run and been heard, and when it did run."""

    since_s: float
    began_s: float


def waits(
    arrivals: list[tuple[float, int, int]], *, max_batch: int, window_s: float, step_s: float, audio_s: float
) -> list[Wait]:
    """Every segment of a run. `arrivals`: when, whose, how many segments."""
    desk = Desk(max_batch=max_batch, batch_window_s=window_s, step_s=step_s, audio_s=audio_s, max_waiting=10_000)
    pending = sorted(arrivals)
    whose: dict[int, int] = {}
    dry_s: dict[int, float] = {}
    since_s: dict[Piece, float] = {}
    found = []

    def submit_due() -> None:
        while pending and pending[0][0] <= desk.now_s:
            at_s, listener, segments = pending.pop(0)
            desk.now_s, now_s = at_s, desk.now_s
            job = desk.submit(listener, segments)
            desk.now_s = now_s
            whose[job] = listener
            since_s.update({Piece(job, index): at_s for index in range(segments)})

    while True:
        submit_due()
        decision = desk.tick()
        if isinstance(decision, Step):
            begun_s, ends_s = desk.now_s, desk.now_s + step_s
            while pending and pending[0][0] <= ends_s:
                desk.now_s = pending[0][0]
                submit_due()
            desk.now_s = begun_s
            desk.finish(decision.pieces)
            for piece in decision.pieces:
                listener = whose[piece.job]
                heard_s = dry_s.get(listener, -math.inf)
                found.append(Wait(max(since_s.pop(piece), heard_s), begun_s))
                dry_s[listener] = max(heard_s, desk.now_s) + audio_s
        else:
            times_s = [each for each in (decision.at_s, pending[0][0] if pending else None) if each is not None]
            if not times_s:
                assert not since_s, "a segment was never run"
                return found
            desk.now_s = min(times_s)


ARRIVALS = st.lists(st.tuples(st.floats(0, 20), st.integers(0, 9), st.integers(1, 6)), min_size=1, max_size=25)


@given(ARRIVALS, st.integers(1, 4), st.sampled_from([0.0, 0.005]), st.sampled_from([0.05, 0.5, 2.0]))
def test_nobody_waits_longer_than_it_takes_to_serve_everybody_else_once(
    arrivals: list[tuple[float, int, int]], max_batch: int, window_s: float, step_s: float
) -> None:
    """Under any load, far above what the engine can do too: steps of 2 s, and 1 s of audio in each segment."""
    others = len({listener for _, listener, _ in arrivals}) - 1
    bound_s = (others // max_batch + 2) * step_s + window_s
    for wait in waits(arrivals, max_batch=max_batch, window_s=window_s, step_s=step_s, audio_s=1.0):
        assert wait.began_s - wait.since_s <= bound_s + 1e-9


@given(ARRIVALS)
def test_below_capacity_nobody_runs_dry_in_mid_answer(arrivals: list[tuple[float, int, int]]) -> None:
    """Ten listeners at most, each of which needs a step of 0.05 s for every second that it hears."""
    late_s = [
        wait.began_s - wait.since_s for wait in waits(arrivals, max_batch=1, window_s=0, step_s=0.05, audio_s=1.0)
    ]
    assert max(late_s) <= 11 * 0.05 + 1e-9


@dataclass
class Known:
    """What the test knows of a job that has not ended."""

    listener: int
    segments: int
    in_chunks: bool
    taken: int = 0
    made: int = 0
    part: int = 0
    chunks_left: int = 0
    unsent_s: float = 0.0


LISTENERS = st.integers(0, 3)  # as many as `submit_for_all` submits for


class Anything(RuleBasedStateMachine):
    """In whatever order things happen: segments run in order, once, within bounds, and nothing is left at the end."""

    @initialize(
        max_batch=st.integers(1, 4),
        window_s=st.sampled_from([0.0, 0.0, 0.005, 1.0]),
        look_ahead_s=st.sampled_from([0.5, 3.0, 100.0]),
        max_waiting=st.sampled_from([1000, 6, 1]),
        max_wait_s=st.sampled_from([math.inf, 3.0, 0.1]),
    )
    def begin(self, max_batch: int, window_s: float, look_ahead_s: float, max_waiting: int, max_wait_s: float) -> None:
        self.max_batch, self.look_ahead_s, self.max_waiting = max_batch, look_ahead_s, max_waiting
        self.scheduler = Scheduler(
            max_batch=max_batch,
            max_waiting=max_waiting,
            look_ahead_s=look_ahead_s,
            batch_window_s=window_s,
            max_wait_s=max_wait_s,
        )
        self.now_s = 0.0
        self.jobs: dict[int, Known] = {}
        self.ended: list[int] = []
        self.seen: set[Piece] = set()
        self.step: Step | None = None

    @rule(
        listener=LISTENERS,
        phonemes=st.lists(st.integers(1, 510), min_size=1, max_size=5),
        paced=st.booleans(),
        in_chunks=st.booleans(),
    )
    def submit(self, listener: int, phonemes: list[int], paced: bool, in_chunks: bool) -> None:
        waiting, own = self.scheduler.waiting, self.waiting_of(listener)
        retry_after_s = None
        try:
            job = self.scheduler.submitted(listener, phonemes, self.now_s, paced=paced, in_chunks=in_chunks)
        except QueueFull as full:
            retry_after_s = full.retry_after_s
        if retry_after_s is not None:
            assert waiting or self.step
            assert 0 < retry_after_s <= 60
            return
        assert not own or own + len(phonemes) <= self.max_waiting
        assert not waiting or waiting + len(phonemes) <= self.max_waiting * 32
        assert job not in self.jobs
        assert job not in self.ended
        self.jobs[job] = Known(listener, len(phonemes), in_chunks)

    @rule(segments=st.integers(1, 3), in_chunks=st.booleans())
    def submit_for_all(self, segments: int, in_chunks: bool) -> None:
        for listener in range(4):
            self.submit(listener, [40] * segments, paced=True, in_chunks=in_chunks)

    @rule(passes_s=st.sampled_from([0.001, 0.3, 1.0, 20.0]))
    def wait(self, passes_s: float) -> None:
        self.now_s += passes_s

    @rule()
    def tick(self) -> None:
        decision = self.scheduler.tick(self.now_s)
        if isinstance(decision, Wake):
            assert decision.at_s is None or (decision.at_s > self.now_s and self.step is None)
            return
        assert self.step is None
        assert 1 <= len(decision.pieces) <= self.max_batch
        self.step = decision
        for piece in decision.pieces:
            known = self.jobs[piece.job]
            if known.chunks_left:
                assert (piece.index, piece.part) == (known.taken - 1, known.part + 1), "chunk by chunk"
            else:
                assert (piece.index, piece.part) == (known.taken, 0), "in order"
                known.taken += 1
            known.part = piece.part
            assert piece not in self.seen, "once"
            assert all(
                earlier.taken == earlier.segments and not earlier.chunks_left
                for job, earlier in self.jobs.items()
                if earlier.listener == known.listener and job < piece.job
            ), "a listener's earlier jobs first"
            assert self.unsent_s(known.listener) < self.look_ahead_s
            self.seen.add(piece)
        chunked = [piece.job for piece in decision.pieces if self.jobs[piece.job].in_chunks]
        assert len(set(chunked)) == len(chunked), "a chunk needs the one before it"

    @precondition(lambda self: self.step is not None)
    @rule(
        audio_s=st.lists(st.sampled_from([None, 0.0, 0.3, 4.0]), min_size=4, max_size=4),
        chunks=st.lists(st.integers(1, 3), min_size=4, max_size=4),
    )
    def finish(self, audio_s: list[float | None], chunks: list[int]) -> None:
        assert self.step is not None
        pieces, self.step = self.step.pieces, None
        left = [self.left(piece, count) for piece, count in zip(pieces, chunks, strict=False)]
        self.scheduler.step_finished(audio_s[: len(pieces)], self.now_s, [(0.5,) * count for count in left])
        for piece, made_s, count in zip(pieces, audio_s, left, strict=False):
            known = self.jobs.get(piece.job)
            if known is None:
                continue
            if made_s is None:
                self.end(piece.job)
                continue
            known.chunks_left = count
            known.made += not count
            known.unsent_s += made_s
            self.end_if_delivered(piece.job)

    @precondition(lambda self: any(known.unsent_s for known in self.jobs.values()))
    @rule(data=st.data(), share=st.sampled_from([0.25, 1.0]))
    def deliver(self, data: st.DataObject, share: float) -> None:
        """The oldest job of some listener, as sessions do."""
        job = data.draw(st.sampled_from([job for job, known in self.jobs.items() if known.unsent_s]))
        sent_s = self.jobs[job].unsent_s * share
        self.scheduler.delivered(job, sent_s, self.now_s)
        self.jobs[job].unsent_s -= sent_s
        self.end_if_delivered(job)

    @precondition(lambda self: self.jobs or self.ended)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """Any job, one that has ended too; often one that is in the step."""
        in_step = [piece.job for piece in self.step.pieces] if self.step else []
        job = data.draw(st.sampled_from([*in_step, *self.jobs, *self.ended]))
        self.scheduler.cancelled(job, self.now_s)
        if job in self.jobs:
            self.end(job)

    @rule(listener=LISTENERS)
    def disconnect(self, listener: int) -> None:
        jobs = [job for job, known in self.jobs.items() if known.listener == listener]
        assert list(self.scheduler.disconnected(listener)) == jobs
        for job in jobs:
            self.end(job)

    @rule(listener=LISTENERS)
    def interrupt(self, listener: int) -> None:
        self.scheduler.interrupted(listener, self.now_s)

    @invariant()
    def nothing_is_lost_or_left(self) -> None:
        assert self.scheduler.jobs == len(self.jobs)
        assert self.scheduler.waiting == sum(known.segments - known.taken for known in self.jobs.values())
        assert self.scheduler.listeners >= len({known.listener for known in self.jobs.values()})

    def teardown(self) -> None:
        """When everybody takes what there is, everything ends, and the scheduler is as empty as it was."""
        if not hasattr(self, "scheduler"):
            return
        left = 9 * sum(known.segments for known in self.jobs.values()) + 10
        while self.jobs and left:
            left -= 1
            if self.step is not None:
                self.now_s += 0.1
                self.finish([1.0] * self.max_batch, [3] * self.max_batch)
            for job in [job for job, known in self.jobs.items() if known.unsent_s]:
                self.scheduler.delivered(job, self.jobs[job].unsent_s, self.now_s)
                self.jobs[job].unsent_s = 0.0
                self.end_if_delivered(job)
            self.tick()
            if self.step is None:
                decision = self.scheduler.tick(self.now_s)
                self.now_s = max(self.now_s, (decision.at_s if isinstance(decision, Wake) else None) or self.now_s)
        assert not self.jobs, "something admitted never ended"
        if self.step is not None:
            self.finish([1.0] * self.max_batch, [1] * self.max_batch)
        self.scheduler.tick(self.now_s + FOR_EVER_S)
        assert (self.scheduler.jobs, self.scheduler.waiting, self.scheduler.listeners) == (0, 0, 0)

    def left(self, piece: Piece, chunks: int) -> int:
        """How many chunks of the piece's segment are to come: of a first chunk, as many as were drawn but one."""
        known = self.jobs.get(piece.job)
        if known is None or not known.in_chunks:
            return 0
        return known.chunks_left - 1 if piece.part else chunks - 1

    def waiting_of(self, listener: int) -> int:
        return sum(known.segments - known.taken for known in self.jobs.values() if known.listener == listener)

    def unsent_s(self, listener: int) -> float:
        return sum(known.unsent_s for known in self.jobs.values() if known.listener == listener)

    def end(self, job: int) -> None:
        del self.jobs[job]
        self.ended.append(job)

    def end_if_delivered(self, job: int) -> None:
        known = self.jobs[job]
        if known.made == known.segments and known.unsent_s < 1e-6:
            self.end(job)


TestAnything = Anything.TestCase
TestAnything.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
