"""The scheduler, as lists of what it is told and what it answers. The clock is a number."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from speech_container.errors import QueueFull
from speech_container.listener import Piece
from speech_container.scheduler import Scheduler, Step, Wake

PHONEMES = 30  # in every segment, where a test does not say
FOR_EVER_S = 1e9


class Desk:
    """A scheduler with a clock, an engine that takes `step_s` a step, and listeners that take everything at once."""

    def __init__(self, *, audio_s: float = 1.0, step_s: float = 0.1, **limits: Any) -> None:
        self.scheduler = Scheduler(**{"max_batch": 1, "max_waiting": 100, "look_ahead_s": 10.0, **limits})
        self.now_s = 0.0
        self.audio_s = audio_s
        self.step_s = step_s

    def submit(
        self, listener: int, segments: int, *, paced: bool = True, phonemes: int = PHONEMES, in_chunks: bool = False
    ) -> int:
        return self.scheduler.submitted(listener, [phonemes] * segments, self.now_s, paced=paced, in_chunks=in_chunks)

    def tick(self) -> Step | Wake:
        return self.scheduler.tick(self.now_s)

    def begin(self) -> tuple[Piece, ...]:
        """The pieces of a step that begins now; none where there is no step."""
        decision = self.tick()
        return decision.pieces if isinstance(decision, Step) else ()

    def finish(self, pieces: tuple[Piece, ...], *, deliver: bool = True) -> None:
        self.now_s += self.step_s
        self.scheduler.step_finished([self.audio_s] * len(pieces), self.now_s)
        for piece in pieces if deliver else ():
            self.scheduler.delivered(piece.job, self.audio_s, self.now_s)

    def run(self, *, deliver: bool = True) -> tuple[Piece, ...]:
        """A whole step."""
        pieces = self.begin()
        if pieces:
            self.finish(pieces, deliver=deliver)
        return pieces

    def run_chunk(self, audio_s: float, *to_come_s: float) -> Piece:
        """A whole step of one piece, of which so much audio comes now and so much in each chunk after it."""
        (piece,) = self.begin()
        self.now_s += self.step_s
        self.scheduler.step_finished([audio_s], self.now_s, [to_come_s])
        self.scheduler.delivered(piece.job, audio_s, self.now_s)
        return piece

    def run_all(self, until_s: float = FOR_EVER_S) -> Iterator[tuple[float, tuple[Piece, ...]]]:
        """Step after step, each with when it began, for as long as there is anything to wait for."""
        while self.now_s < until_s:
            decision = self.tick()
            if isinstance(decision, Step):
                yield self.now_s, decision.pieces
                self.finish(decision.pieces)
            elif decision.at_s is None:
                return
            else:
                self.now_s = min(decision.at_s, until_s)


# Order


def test_a_job_runs_segment_by_segment_in_order() -> None:
    desk = Desk()
    job = desk.submit(1, 3)
    assert [desk.run() for _ in range(4)] == [(Piece(job, 0),), (Piece(job, 1),), (Piece(job, 2),), ()]


def test_the_jobs_of_a_listener_run_in_the_order_they_came() -> None:
    desk = Desk()
    first, second = desk.submit(1, 2), desk.submit(1, 1)
    assert [desk.run()[0] for _ in range(3)] == [Piece(first, 0), Piece(first, 1), Piece(second, 0)]


def test_while_a_step_runs_there_is_nothing_to_do() -> None:
    desk = Desk(max_batch=4)
    desk.submit(1, 3)
    assert desk.begin()
    assert desk.tick() == Wake(None)


def test_first_segments_run_in_order_of_arrival() -> None:
    desk = Desk()
    jobs = []
    for listener in (3, 1, 2):
        jobs.append(desk.submit(listener, 1))
        desk.now_s += 0.01
    assert [desk.run()[0].job for _ in range(3)] == jobs


def test_whoever_has_nothing_to_hear_goes_before_whoever_has() -> None:
    desk = Desk()
    long = desk.submit(1, 10)
    desk.run()
    late = desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [late, long]


def test_whoever_runs_dry_first_goes_first_whoever_was_served_first() -> None:
    desk = Desk()
    early, late = desk.submit(1, 3), desk.submit(2, 3)
    desk.audio_s = 3.0
    assert desk.run()[0].job == early
    desk.audio_s = 1.0
    assert [desk.run()[0].job for _ in range(3)] == [late, late, late]


def test_whoever_ran_dry_in_mid_answer_goes_before_whoever_came_since() -> None:
    desk = Desk(step_s=0.1)
    long = desk.submit(1, 2)
    desk.run()
    desk.submit(2, 1)
    step = desk.begin()
    desk.now_s = 1.5  # the step took long: listener 1 ran dry at 1.1
    newcomer = desk.submit(3, 1)
    desk.finish(step)
    assert [desk.run()[0].job for _ in range(2)] == [long, newcomer]


def test_audio_that_was_not_sent_yet_counts_as_heard_from_when_it_was_made() -> None:
    desk = Desk(step_s=0.1)
    sent, unsent = desk.submit(1, 2), desk.submit(2, 2)
    desk.run()  # listener 1 hears this until 1.1
    desk.audio_s = 0.5
    desk.run(deliver=False)  # listener 2 until 0.7, if it is sent at once
    assert [desk.run()[0].job for _ in range(2)] == [unsent, sent]


def test_late_delivery_moves_the_end_of_what_is_heard() -> None:
    desk = Desk(step_s=0.1)
    one, other = desk.submit(1, 2), desk.submit(2, 2)
    desk.run(deliver=False)
    desk.audio_s = 1.2
    desk.run()  # listener 2 hears this until 1.4
    desk.now_s = 1.0
    desk.scheduler.delivered(one, 1.0, desk.now_s)  # listener 1 hears it only now, until 2.0
    assert [desk.run()[0].job for _ in range(2)] == [other, one]


# Batches


def test_a_step_takes_the_most_urgent_of_each_listener() -> None:
    desk = Desk(max_batch=2)
    jobs = [desk.submit(listener, 2) for listener in (1, 2, 3)]
    assert [piece.job for piece in desk.run()] == jobs[:2]
    assert desk.begin()[0].job == jobs[2]


def test_a_first_segment_does_not_wait_for_more_of_its_own() -> None:
    desk = Desk(max_batch=4)
    job = desk.submit(1, 6)
    assert desk.run() == (Piece(job, 0),)
    assert desk.run() == tuple(Piece(job, index) for index in range(1, 5)), "nobody is dry: the step is filled"


def test_a_filled_step_keeps_within_the_look_ahead() -> None:
    desk = Desk(max_batch=8, look_ahead_s=3.0)
    desk.submit(1, 20)
    for _ in range(20):  # until it is known how long a segment lasts
        desk.run()
        desk.now_s += 1.0
    desk.submit(2, 20)
    desk.run()
    assert len(desk.run()) <= 4


def test_room_in_a_filled_step_is_shared_evenly() -> None:
    desk = Desk(max_batch=5)
    one, other = desk.submit(1, 9), desk.submit(2, 9)
    desk.run()
    jobs = [piece.job for piece in desk.begin()]
    assert (jobs.count(one), jobs.count(other)) == (3, 2)


def test_an_idle_engine_waits_for_company_no_longer_than_the_window() -> None:
    desk = Desk(max_batch=4, batch_window_s=0.005)
    first = desk.submit(1, 1)
    assert desk.tick() == Wake(0.005)
    desk.now_s = 0.003
    second = desk.submit(2, 1)
    assert desk.tick() == Wake(0.005)
    desk.now_s = 0.005
    assert desk.begin() == (Piece(first, 0), Piece(second, 0))


def test_a_full_step_waits_for_nobody() -> None:
    desk = Desk(max_batch=2, batch_window_s=0.005)
    jobs = [desk.submit(listener, 1) for listener in (1, 2)]
    assert [piece.job for piece in desk.begin()] == jobs


def test_whoever_waited_through_a_step_does_not_wait_again() -> None:
    desk = Desk(max_batch=4, batch_window_s=0.005)
    desk.submit(1, 1)
    desk.now_s = 0.005
    step = desk.begin()
    late = desk.submit(2, 1)
    desk.finish(step)
    assert desk.begin() == (Piece(late, 0),)


def test_the_window_of_a_segment_that_was_held_back_opens_when_it_is_let_go() -> None:
    desk = Desk(max_batch=4, batch_window_s=0.005, look_ahead_s=1.0)
    job = desk.submit(1, 2, paced=False)
    desk.now_s = 0.005
    desk.run(deliver=False)
    desk.now_s = 50.0
    desk.scheduler.delivered(job, 1.0, desk.now_s)
    assert desk.tick() == Wake(50.005)


def test_an_engine_that_takes_one_at_a_time_waits_for_nobody() -> None:
    desk = Desk(max_batch=1, batch_window_s=0.005)
    desk.submit(1, 1)
    assert desk.begin()


# Chunks


def test_a_segment_is_made_chunk_by_chunk_before_the_next_one() -> None:
    desk = Desk()
    job = desk.submit(1, 2, in_chunks=True)
    assert desk.run_chunk(1.0, 2.0, 4.0) == Piece(job, 0, 0)
    assert desk.run_chunk(2.0, 4.0) == Piece(job, 0, 1)
    assert desk.run_chunk(4.0) == Piece(job, 0, 2)
    assert desk.run_chunk(1.0) == Piece(job, 1, 0)
    assert desk.scheduler.jobs == 0


def test_between_two_chunks_whoever_has_nothing_to_hear_goes_first() -> None:
    desk = Desk()
    long = desk.submit(1, 1, in_chunks=True)
    desk.run_chunk(1.0, 2.0, 4.0)
    late = desk.submit(2, 1)
    assert [desk.run()[0].job, desk.run_chunk(2.0, 4.0).job] == [late, long]


def test_a_chunk_waits_in_line_by_when_its_listener_runs_dry() -> None:
    desk = Desk(step_s=0.1)
    chunked, whole = desk.submit(1, 1, in_chunks=True), desk.submit(2, 2)
    desk.run_chunk(1.0, 2.0, 4.0)  # heard until 1.1
    desk.audio_s = 1.5
    desk.run()  # heard until 1.7
    assert desk.run_chunk(2.0, 4.0) == Piece(chunked, 0, 1)  # heard until 3.1
    assert desk.run()[0].job == whole


def test_a_chunk_is_made_no_further_ahead_than_the_look_ahead() -> None:
    desk = Desk(step_s=0.0, look_ahead_s=2.0)
    job = desk.submit(1, 1, in_chunks=True)
    desk.run_chunk(1.0, 2.0, 4.0)
    desk.run_chunk(2.0, 4.0)
    assert desk.tick() == Wake(1.0)
    desk.now_s = 1.0
    assert desk.begin() == (Piece(job, 0, 2),)


def test_a_cancel_takes_effect_before_the_next_chunk() -> None:
    desk = Desk()
    job = desk.submit(1, 2, in_chunks=True)
    (piece,) = desk.begin()
    desk.scheduler.cancelled(job, desk.now_s)
    desk.scheduler.step_finished([1.0], desk.now_s, [(2.0, 4.0)])
    assert piece.job == job
    assert desk.tick() == Wake(None)
    assert (desk.scheduler.jobs, desk.scheduler.waiting) == (0, 0)


def test_a_chunk_that_fails_ends_its_job() -> None:
    desk = Desk()
    desk.submit(1, 2, in_chunks=True)
    desk.run_chunk(1.0, 2.0)
    desk.begin()
    desk.scheduler.step_finished([None], desk.now_s, [()])
    assert desk.scheduler.jobs == 0


def test_chunks_share_a_step_with_whatever_else_is_due() -> None:
    desk = Desk(max_batch=3)
    chunked, whole = desk.submit(1, 1, in_chunks=True), desk.submit(2, 2)
    assert desk.begin() == (Piece(chunked, 0), Piece(whole, 0))
    desk.scheduler.step_finished([1.0, 1.0], desk.now_s, [(2.0,), ()])
    assert desk.begin() == (Piece(chunked, 0, 1), Piece(whole, 1))


def test_room_in_a_step_goes_to_nothing_that_needs_the_chunk_before_it() -> None:
    desk = Desk(max_batch=4, step_s=0.0)
    chunked = desk.submit(1, 3, in_chunks=True)
    desk.run_chunk(1.0, 2.0)  # nobody is dry from now on
    assert desk.begin() == (Piece(chunked, 0, 1),)


def test_a_segment_that_came_whole_is_followed_by_the_next() -> None:
    desk = Desk()
    job = desk.submit(1, 2, in_chunks=True)
    assert [desk.run(), desk.run()] == [(Piece(job, 0),), (Piece(job, 1),)]


def test_the_wait_for_a_first_chunk_is_as_short_as_first_chunks_have_been() -> None:
    desk = Desk(step_s=0.1, max_wait_s=math.inf)
    for listener in range(30):  # each a second of audio first and three after it, all at the same pace
        desk.submit(listener, 1, in_chunks=True)
        desk.step_s = 0.1
        desk.run_chunk(1.0, 3.0)
        desk.now_s += 0.95
        desk.step_s = 0.3
        desk.run_chunk(3.0)
        desk.now_s += 20.0
    for listener in range(100, 104):
        desk.submit(listener, 1, in_chunks=True)
    assert desk.scheduler.wait_s(desk.now_s) == pytest.approx(4 * 0.1, rel=0.05)
    for listener in range(200, 202):
        desk.submit(listener, 1)
    assert desk.scheduler.wait_s(desk.now_s) == pytest.approx(4 * 0.1 + 2 * 0.4, rel=0.05)


def test_the_rest_of_a_segment_counts_as_work_for_now() -> None:
    desk = Desk(look_ahead_s=10.0)
    desk.submit(1, 1, in_chunks=True)
    assert desk.scheduler.claimed(desk.now_s) == 1
    desk.run_chunk(1.0, 2.0, 4.0)
    assert desk.scheduler.claimed(desk.now_s) == 1
    assert desk.scheduler.waiting == 0


# Look-ahead


def test_nobody_gets_further_ahead_of_what_was_sent_than_the_look_ahead() -> None:
    desk = Desk(look_ahead_s=2.0)
    job = desk.submit(1, 10, paced=False)
    desk.run(deliver=False)
    desk.run(deliver=False)
    desk.now_s += 100
    assert desk.tick() == Wake(None)
    desk.scheduler.delivered(job, 0.5, desk.now_s)
    assert desk.run(deliver=False) == (Piece(job, 2),)
    assert desk.tick() == Wake(None)


def test_nobody_gets_further_ahead_of_real_time_than_the_look_ahead() -> None:
    desk = Desk(look_ahead_s=2.0, step_s=0.1)
    desk.submit(1, 10)
    began_s = [when_s for when_s, _ in desk.run_all()]
    heard_until_s = 0.1 + 1.0  # the first segment's audio
    assert began_s[:3] == pytest.approx([0.0, 0.1, 0.2]), "as fast as it can, at first"
    assert began_s[3:] == pytest.approx([heard_until_s + made - 2.0 for made in range(2, 9)]), "then as it is heard"


def test_what_is_not_played_as_it_comes_is_made_as_fast_as_it_can_be() -> None:
    desk = Desk(look_ahead_s=2.0, step_s=0.1)
    desk.submit(1, 50, paced=False)
    assert [when_s for when_s, _ in desk.run_all()] == pytest.approx([0.1 * step for step in range(50)])


def test_look_ahead_counts_all_jobs_of_a_listener() -> None:
    desk = Desk(look_ahead_s=2.0)
    desk.submit(1, 2)
    desk.submit(1, 2)
    desk.run(deliver=False)
    desk.run(deliver=False)
    assert desk.tick() == Wake(None)


def test_what_a_listener_still_hears_counts_after_its_job_has_ended() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    assert desk.scheduler.jobs == 0
    hears, dry = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [dry, hears]


# Ends


def test_a_job_ends_when_all_of_it_was_sent() -> None:
    desk = Desk()
    job = desk.submit(1, 2)
    desk.run()
    desk.run(deliver=False)
    assert desk.scheduler.jobs == 1
    desk.scheduler.delivered(job, 1.0, desk.now_s)
    assert (desk.scheduler.jobs, desk.scheduler.waiting) == (0, 0)


def test_a_cancelled_job_takes_no_step_and_leaves_nothing_behind() -> None:
    desk = Desk()
    job = desk.submit(1, 5)
    step = desk.begin()
    desk.scheduler.cancelled(job, desk.now_s)
    desk.scheduler.cancelled(job, desk.now_s)
    desk.finish(step)
    assert desk.tick() == Wake(None)
    assert (desk.scheduler.jobs, desk.scheduler.waiting, desk.scheduler.listeners) == (0, 0, 0)


def test_the_next_job_runs_when_the_one_before_was_cancelled_in_mid_step() -> None:
    desk = Desk()
    first, second = desk.submit(1, 5), desk.submit(1, 1)
    step = desk.begin()
    desk.scheduler.cancelled(first, desk.now_s)
    desk.finish(step)
    assert desk.run() == (Piece(second, 0),)


def test_a_listener_that_cut_its_answer_short_is_dry() -> None:
    desk = Desk()
    cut = desk.submit(1, 9)
    for _ in range(5):
        desk.run()
    other = desk.submit(2, 2)
    desk.run()  # hears this for another second
    desk.scheduler.cancelled(cut, desk.now_s)
    again = desk.submit(1, 1)
    assert [desk.run()[0].job for _ in range(2)] == [again, other]


def test_cancelling_stops_the_sound_of_the_requests_before_too() -> None:
    """As with a text that is spoken as it is written: each sentence is a job, and most of what is heard was sent."""
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    cut = desk.submit(1, 1)
    desk.scheduler.cancelled(cut, desk.now_s)
    again, other = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [again, other]


def test_cancelling_what_waits_behind_another_request_stops_no_sound() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 2)
    behind = desk.submit(1, 1)
    desk.run()
    desk.scheduler.cancelled(behind, desk.now_s)
    dry = desk.submit(2, 1)
    assert desk.run()[0].job == dry


def test_a_failed_segment_stops_no_sound() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 2)
    desk.run()
    assert desk.begin()
    desk.scheduler.step_finished([None], desk.now_s)
    hears, dry = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [dry, hears]


def test_an_interrupted_listener_is_dry_whatever_was_sent_to_it() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    desk.scheduler.interrupted(1, desk.now_s)
    again, other = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [again, other]


def test_a_disconnected_listener_is_forgotten_with_all_its_jobs() -> None:
    desk = Desk()
    first, second = desk.submit(1, 3), desk.submit(1, 3)
    other = desk.submit(2, 1)
    step = desk.begin()
    assert desk.scheduler.disconnected(1) == (first, second)
    assert desk.scheduler.disconnected(1) == ()
    desk.finish(step)
    assert desk.run() == (Piece(other, 0),)
    assert desk.scheduler.jobs == 0


def test_an_interrupted_listener_goes_on_with_the_jobs_it_has() -> None:
    desk = Desk(audio_s=5.0)
    interrupted, other = desk.submit(1, 3), desk.submit(2, 3)
    assert [desk.run()[0].job for _ in range(3)] == [interrupted, other, interrupted]
    desk.scheduler.interrupted(1, desk.now_s)
    assert desk.run() == (Piece(interrupted, 2),)


def test_a_job_that_was_cancelled_in_mid_step_takes_nothing_from_the_others_in_it() -> None:
    desk = Desk(max_batch=3)
    gone, *kept = [desk.submit(listener, 1) for listener in (1, 2, 3)]
    step = desk.begin()
    desk.scheduler.cancelled(gone, desk.now_s)
    desk.finish(step, deliver=False)
    for job in kept:
        desk.scheduler.delivered(job, desk.audio_s, desk.now_s)
    assert desk.scheduler.jobs == 0


def test_a_failed_segment_ends_its_job_and_no_other() -> None:
    desk = Desk(max_batch=2)
    desk.submit(1, 3)
    fine = desk.submit(2, 2)
    step = desk.begin()
    desk.scheduler.step_finished([None, 1.0], desk.now_s)
    assert len(step) == 2
    assert desk.scheduler.jobs == 1
    assert desk.run() == (Piece(fine, 1),)


def test_a_failed_segment_takes_what_follows_it_in_the_step_along() -> None:
    desk = Desk(max_batch=3)
    job = desk.submit(1, 4)
    desk.run()
    assert desk.begin() == (Piece(job, 1), Piece(job, 2), Piece(job, 3))
    desk.scheduler.step_finished([1.0, None, 1.0], desk.now_s)
    assert (desk.scheduler.jobs, desk.scheduler.waiting) == (0, 0)


def test_a_listener_is_remembered_until_it_has_heard_everything() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    assert desk.scheduler.listeners == 1
    desk.submit(1, 1)
    assert desk.scheduler.listeners == 1
    desk.run()
    desk.now_s += 10.0
    desk.tick()
    assert desk.scheduler.listeners == 0


def test_a_step_that_nobody_began_cannot_finish() -> None:
    with pytest.raises(RuntimeError, match="no step is running"):
        Desk().scheduler.step_finished([], 0.0)


# Admission


def refusal_s(submit: Callable[[], object]) -> float:
    with pytest.raises(QueueFull) as full:
        submit()
    return full.value.retry_after_s


def test_past_the_limit_of_segments_a_job_is_refused() -> None:
    desk = Desk(max_waiting=3)
    desk.submit(1, 3)
    assert refusal_s(lambda: desk.submit(2, 1)) > 0
    assert desk.scheduler.jobs == 1
    desk.run()
    assert desk.submit(2, 1)


def test_a_job_longer_than_the_queue_is_taken_when_nothing_waits() -> None:
    assert Desk(max_waiting=3).submit(1, 50)


def test_long_texts_whose_listeners_are_ahead_refuse_nobody() -> None:
    desk = Desk(max_waiting=10, look_ahead_s=2.0, step_s=0.001)
    for listener in range(20):
        desk.submit(listener, 12)
        while desk.run():
            pass
    assert desk.scheduler.claimed(desk.now_s) == 0
    late = desk.submit(99, 3)
    assert desk.run() == (Piece(late, 0),)


def test_a_long_text_counts_as_what_brings_its_listener_to_the_look_ahead() -> None:
    desk = Desk(max_waiting=10, look_ahead_s=4.0)  # two segments as they are estimated at first, at 2 s
    for listener in range(5):
        desk.submit(listener, 50)
    assert desk.scheduler.claimed(desk.now_s) == 10
    assert refusal_s(lambda: desk.submit(99, 1)) > 0


def test_a_listener_fills_its_own_queue_and_not_the_others() -> None:
    desk = Desk(max_waiting=10, look_ahead_s=2.0)
    desk.submit(1, 9)
    assert refusal_s(lambda: desk.submit(1, 2)) > 0
    assert desk.submit(1, 1)
    assert desk.submit(2, 9)


def test_what_all_queues_hold_is_bounded() -> None:
    desk = Desk(max_waiting=10, look_ahead_s=0.5, step_s=0.0001)
    for listener in range(31):
        desk.submit(listener, 11)
        assert desk.run()
    desk.submit(98, 10)
    assert desk.run()
    desk.submit(99, 1)
    assert desk.scheduler.waiting == 32 * 10
    assert refusal_s(lambda: desk.submit(100, 1)) > 0


def test_past_the_limit_of_waiting_a_newcomer_is_refused() -> None:
    desk = Desk(step_s=1.0, max_wait_s=4.5)
    desk.submit(0, 1)
    desk.run()
    for listener in range(1, 6):
        desk.submit(listener, 1)
    assert desk.scheduler.wait_s(desk.now_s) == pytest.approx(5.0)
    assert refusal_s(lambda: desk.submit(9, 1)) == pytest.approx(0.5)


def test_whoever_has_something_to_hear_may_wait_for_longer() -> None:
    desk = Desk(step_s=1.0, max_wait_s=4.5, audio_s=8.0)
    desk.submit(0, 1)
    desk.run()
    for listener in range(1, 6):
        desk.submit(listener, 1)
    assert desk.submit(0, 1)


def test_long_answers_of_others_are_nothing_to_wait_for() -> None:
    desk = Desk(step_s=1.0, audio_s=3.0)
    for listener in range(3):
        desk.submit(listener, 30)
        desk.run()
    assert desk.scheduler.waiting == 87
    assert desk.scheduler.wait_s(desk.now_s) <= 1.0


def test_the_step_in_hand_counts_as_far_as_it_is_not_done() -> None:
    desk = Desk(step_s=1.0)
    desk.submit(1, 3)
    desk.run()
    desk.begin()
    assert desk.scheduler.wait_s(desk.now_s + 0.25) == pytest.approx(0.75)
    assert desk.scheduler.wait_s(desk.now_s + 5) == 0


def test_waiting_is_counted_in_batches() -> None:
    desk = Desk(step_s=1.0, max_batch=4)
    for _ in range(2):
        for listener in range(4):
            desk.submit(listener, 1)
        desk.run()
        desk.now_s += 10
    for listener in range(10):
        desk.submit(listener, 1)
    assert desk.scheduler.wait_s(desk.now_s) == pytest.approx(2.0), "two full steps, and then it goes with the rest"


@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 4), st.floats(0.05, 2.0))
def test_a_refusal_tells_when_to_come_back(waiting: int, max_batch: int, segments: int, step_s: float) -> None:
    desk = Desk(step_s=step_s, max_batch=max_batch, max_wait_s=waiting * step_s / 2 / max_batch, audio_s=100.0)
    for listener in range(max_batch):
        desk.submit(listener, 1)
    desk.run()
    listeners = 100
    refused_s = None
    while refused_s is None:
        listeners += 1
        try:
            desk.submit(listeners, segments)
        except QueueFull as full:
            refused_s = full.retry_after_s
    list(desk.run_all(until_s=desk.now_s + refused_s))
    assert desk.submit(99, 1)


def test_a_listeners_full_queue_has_room_when_it_has_heard_enough() -> None:
    desk = Desk(max_waiting=40, audio_s=2.0, step_s=0.1)
    desk.submit(1, 38)
    for _ in range(6):
        desk.run()
    assert desk.scheduler.waiting == 32
    wait_s = refusal_s(lambda: desk.submit(1, 12))
    assert wait_s > 1.0, "the engine is idle, but its listener needs no more yet"
    list(desk.run_all(until_s=desk.now_s + wait_s / 2))
    refusal_s(lambda: desk.submit(1, 12))
    list(desk.run_all(until_s=desk.now_s + wait_s / 2 + desk.step_s))
    assert desk.submit(1, 12)


# Whatever happens


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
