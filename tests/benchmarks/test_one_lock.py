"""What the listeners of the comparison do, and what is made of what they heard."""

import pytest

from benchmarks.one_lock import TEXTS, Outcome, Pair, Plan, table
from benchmarks.rig.listener import Heard


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
