"""The scheduler under many listeners, in the simulation that docs/fairness.md shows, with fewer seeds."""

import pytest

from benchmarks.fairness import (
    ANSWERS,
    SINGLE,
    TARGET_LISTENERS,
    TARGET_P95_S,
    Request,
    Traffic,
    measure,
    serve_with_one_lock,
    serve_with_scheduler,
    takes_s,
)


@pytest.mark.parametrize("traffic", [SINGLE, ANSWERS], ids=["one sentence", "four sentences"])
def test_thirty_listeners_are_heard_in_time_and_sooner_than_behind_one_lock(traffic: Traffic) -> None:
    ours = measure(serve_with_scheduler, traffic, TARGET_LISTENERS, seeds=5)
    lock = measure(serve_with_one_lock, traffic, TARGET_LISTENERS, seeds=5)
    assert ours.p95_s <= TARGET_P95_S
    assert ours.p95_s < lock.p95_s
    assert ours.underruns == 0
    assert ours.refused == 0


def test_the_engine_takes_what_was_measured() -> None:
    assert takes_s(1) == pytest.approx(0.056)
    assert takes_s(8) == pytest.approx(0.090)


def test_the_lock_is_held_for_whole_requests() -> None:
    first, second = Request(0.0, 1, (2.0, 2.0)), Request(0.01, 2, (2.0,))
    serve_with_one_lock([first, second])
    assert first.made_s == pytest.approx([0.056, 0.112])
    assert second.made_s == pytest.approx([0.168])


def test_silence_is_what_passes_between_the_end_of_one_sentence_and_the_next() -> None:
    assert Request(0.0, 1, (1.0, 1.0), made_s=[0.5, 1.0]).silence_s == 0
    assert Request(0.0, 1, (1.0, 1.0), made_s=[0.5, 2.0]).silence_s == pytest.approx(0.5)
