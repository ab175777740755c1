"""Whom the scheduler takes and whom it refuses, and when it tells them to come back."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.errors import QueueFull
from speech_container.listener import Piece

from packages.speech_container.tests.desk import Desk


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
