"""The scheduler, as lists of what it is told and what it answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.errors import QueueFull
from speech_container.scheduler import Piece, Scheduler


def make(max_batch: int = 1, max_waiting: int = 100, look_ahead_s: float = 10.0) -> Scheduler:
    return Scheduler(max_batch=max_batch, max_waiting=max_waiting, look_ahead_s=look_ahead_s)


def run(scheduler: Scheduler, audio_s: float = 1.0) -> tuple[Piece, ...]:
    """One step, done."""
    step = scheduler.next_step()
    scheduler.finished(step, [audio_s] * len(step), took_s=0.1)
    return step


def test_a_job_runs_segment_by_segment_in_order() -> None:
    scheduler = make()
    job = scheduler.submit(listener=1, segments=3)
    assert [run(scheduler) for _ in range(4)] == [(Piece(job, 0),), (Piece(job, 1),), (Piece(job, 2),), ()]


def test_a_listener_has_one_segment_in_a_step() -> None:
    scheduler = make(max_batch=4)
    job = scheduler.submit(1, 3)
    assert scheduler.next_step() == (Piece(job, 0),)
    assert scheduler.next_step() == ()


def test_the_jobs_of_a_listener_run_in_the_order_they_came() -> None:
    scheduler = make()
    first, second = scheduler.submit(1, 2), scheduler.submit(1, 1)
    assert [run(scheduler)[0] for _ in range(3)] == [Piece(first, 0), Piece(first, 1), Piece(second, 0)]


def test_listeners_take_turns() -> None:
    scheduler = make()
    one, other = scheduler.submit(1, 2), scheduler.submit(2, 2)
    assert [run(scheduler)[0].job for _ in range(4)] == [one, other, one, other]


def test_whoever_has_nothing_to_hear_goes_first() -> None:
    scheduler = make()
    long = scheduler.submit(1, 10)
    run(scheduler)
    late = scheduler.submit(2, 1)
    assert run(scheduler)[0].job == late
    assert run(scheduler)[0].job == long


def test_a_batch_takes_the_most_urgent_of_each_listener() -> None:
    scheduler = make(max_batch=2)
    jobs = [scheduler.submit(listener, 2) for listener in (1, 2, 3)]
    assert {piece.job for piece in run(scheduler)} == set(jobs[:2])
    assert run(scheduler)[0].job == jobs[2]


def test_nobody_gets_more_than_the_look_ahead() -> None:
    scheduler = make(look_ahead_s=2.0)
    job = scheduler.submit(1, 10)
    assert run(scheduler)
    assert run(scheduler)
    assert run(scheduler) == ()
    scheduler.delivered(job, 0.5)
    assert run(scheduler) == (Piece(job, 2),)
    assert run(scheduler) == ()


def test_look_ahead_counts_all_jobs_of_a_listener() -> None:
    scheduler = make(look_ahead_s=2.0)
    scheduler.submit(1, 2)
    scheduler.submit(1, 2)
    run(scheduler)
    run(scheduler)
    assert run(scheduler) == ()


def test_a_job_that_ended_takes_no_step_and_leaves_nothing_behind() -> None:
    scheduler = make()
    job = scheduler.submit(1, 5)
    step = scheduler.next_step()
    scheduler.end(job)
    scheduler.end(job)
    scheduler.finished(step, [1.0], took_s=0.1)
    scheduler.delivered(job, 1.0)
    assert scheduler.next_step() == ()
    assert (scheduler.jobs, scheduler.waiting) == (0, 0)


def test_the_next_job_runs_when_the_one_before_was_ended_in_mid_step() -> None:
    scheduler = make()
    first, second = scheduler.submit(1, 5), scheduler.submit(1, 1)
    step = scheduler.next_step()
    scheduler.end(first)
    scheduler.finished(step, [1.0], took_s=0.1)
    assert run(scheduler) == (Piece(second, 0),)


def test_past_the_limit_a_job_is_refused_with_a_time_to_retry() -> None:
    scheduler = make(max_waiting=3)
    scheduler.submit(1, 3)
    with pytest.raises(QueueFull) as full:
        scheduler.submit(2, 1)
    assert 0.5 <= full.value.retry_after_s <= 30
    run(scheduler)
    assert scheduler.submit(2, 1)


def test_a_job_longer_than_the_queue_is_taken_when_nothing_waits() -> None:
    scheduler = make(max_waiting=3)
    assert scheduler.submit(1, 50)


def test_long_texts_whose_listeners_are_ahead_refuse_nobody() -> None:
    scheduler = make(max_waiting=10, look_ahead_s=2.0)
    for listener in range(20):
        scheduler.submit(listener, 12)
        while run(scheduler):
            pass
    assert scheduler.claimed == 0
    late = scheduler.submit(99, 3)
    assert run(scheduler) == (Piece(late, 0),)


def test_a_long_text_counts_as_what_brings_its_listener_to_the_look_ahead() -> None:
    scheduler = make(max_waiting=10, look_ahead_s=4.0)  # two segments of the first estimate, 2 s
    for listener in range(5):
        scheduler.submit(listener, 50)
    assert scheduler.claimed == 10
    with pytest.raises(QueueFull):
        scheduler.submit(99, 1)


def test_a_listener_fills_its_own_queue_and_not_the_others() -> None:
    scheduler = make(max_waiting=10, look_ahead_s=2.0)
    scheduler.submit(1, 9)
    with pytest.raises(QueueFull):
        scheduler.submit(1, 2)
    assert scheduler.submit(1, 1)
    assert scheduler.submit(2, 9)


def test_what_all_queues_hold_is_bounded() -> None:
    scheduler = make(max_waiting=10, look_ahead_s=1.0)
    for listener in range(31):
        scheduler.submit(listener, 11)
        while run(scheduler):
            pass
    scheduler.submit(98, 10)
    assert run(scheduler)
    scheduler.submit(99, 1)
    assert scheduler.waiting == 32 * 10
    with pytest.raises(QueueFull):
        scheduler.submit(100, 1)


def test_the_time_to_retry_follows_the_pace_of_the_engine() -> None:
    def refusal_s(took_s: float) -> float:
        scheduler = make(max_waiting=20, look_ahead_s=1000)
        scheduler.submit(1, 20)
        for _ in range(10):
            scheduler.finished(scheduler.next_step(), [1.0], took_s)
        with pytest.raises(QueueFull) as full:
            scheduler.submit(2, 15)
        return full.value.retry_after_s

    assert refusal_s(took_s=2.0) > refusal_s(took_s=0.5)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=12),
    st.lists(st.integers(0, 11)),
    st.integers(1, 4),
)
def test_every_segment_runs_once_unless_its_job_ends(
    jobs: list[tuple[int, int]], ended: list[int], max_batch: int
) -> None:
    scheduler = make(max_batch=max_batch, max_waiting=1000)
    numbers = [scheduler.submit(listener, segments) for listener, segments in jobs]
    gone = {numbers[index] for index in ended if index < len(numbers)}
    for job in gone:
        scheduler.end(job)
    seen: list[Piece] = []
    while step := run(scheduler):
        assert len(step) <= max_batch
        seen += step
        for piece in step:
            scheduler.delivered(piece.job, 1.0)
    assert sorted((piece.job, piece.index) for piece in seen) == [
        (number, index)
        for number, (_, segments) in zip(numbers, jobs, strict=True)
        if number not in gone
        for index in range(segments)
    ]
    assert scheduler.waiting == 0
