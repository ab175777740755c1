"""What the listeners of the comparison do, and what is made of what they heard."""

import statistics
from collections.abc import Callable

import pytest

from benchmarks.one_lock import TARGET_RATIO, Outcome, Pair, Plan, p95_s, table
from benchmarks.rig.listener import TEXTS, Heard
from benchmarks.rig.simulation import CHARS_A_SECOND, with_one_lock, with_scheduler


def test_the_texts_are_of_the_kind_that_is_compared_elsewhere() -> None:
    assert {len(text) for text in TEXTS} == {267}
    assert {text.count(". ") + 1 for text in TEXTS} == {4}


def test_both_servers_get_the_same_arrivals_and_every_run_others() -> None:
    assert Plan.of(1, listeners=4, texts=3) == Plan.of(1, listeners=4, texts=3)
    assert Plan.of(1, listeners=4, texts=3) != Plan.of(2, listeners=4, texts=3)
    assert Plan.of(1, listeners=4, texts=3).starts_s[0] == 0


def heard(first_audio_s: float, silence_s: float = 0.0) -> Heard:
    return Heard(0, 0.0, first_audio_s, silence_s, audio_s=17.0, queue_s=0.0)


def outcome(*texts: Heard) -> Outcome:
    return Outcome.of(texts, cpu_s=17.0, engine_s=8.5)


def test_ratios_are_of_each_run_and_their_spread_is_shown() -> None:
    runs = [
        Pair(run, ours=outcome(heard(1.0, 0.5), heard(p95_s)), lock=outcome(heard(2.0), heard(4.0)))
        for run, p95_s in enumerate((1.0, 2.0, 3.0), 1)
    ]
    assert [pair.p95_ratio for pair in runs] == pytest.approx([0.25, 0.5, 0.75])
    assert "| first audio, p95 | 2.0 s | 4.0 s | **0.50** (0.25 to 0.75) |" in table(runs)
    assert "| silence within an answer, mean | 0.2 s | 0.0 s |  |" in table(runs)
    assert "| real-time factor of the engine | 0.25 | 0.25 |  |" in table(runs)


@pytest.mark.parametrize("real_time_factor", [0.2, 0.3, 0.4, 1.0])
def test_four_listeners_are_heard_twice_as_soon_as_behind_one_lock(real_time_factor: float) -> None:
    ratios = []
    for run in range(30):
        plan = Plan.of(run, listeners=4, texts=3)
        ours, lock = (serve(plan.starts_s, plan.texts, real_time_factor) for serve in (with_scheduler, with_one_lock))
        assert len(ours) == len(lock) == 12
        ratios.append(p95_s(ours) / p95_s(lock))
    assert statistics.median(ratios) <= TARGET_RATIO


@pytest.mark.parametrize("serve", [with_scheduler, with_one_lock])
def test_a_listener_alone_waits_for_its_first_sentence_only(serve: Callable[..., list[Heard]]) -> None:
    first, second = serve([2.0], [["Five words are in this. And more.", "Oh."]], 0.5)
    assert (first.asked_s, first.silence_s) == (2.0, 0.0)
    assert first.first_audio_s == pytest.approx(0.5 * 23 / CHARS_A_SECOND)
    assert second.asked_s == pytest.approx(first.asked_s + first.took_s)


def test_who_asks_while_the_lock_is_held_waits_for_all_of_it_and_behind_the_scheduler_for_a_sentence() -> None:
    long, short = "One one one one. Two two two two. Three three three.", "Four four."
    starts_s, texts = [0.0, 0.01], [[long], [short]]
    lock, ours = (
        {each.listener: each for each in serve(starts_s, texts, 0.5)} for serve in (with_one_lock, with_scheduler)
    )
    assert lock[1].first_audio_s == pytest.approx(0.5 * (16 + 16 + 18 + 10) / CHARS_A_SECOND - 0.01)
    assert ours[1].first_audio_s == pytest.approx(0.5 * (16 + 10) / CHARS_A_SECOND - 0.01)
