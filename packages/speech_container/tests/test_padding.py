"""What padding costs in the batches that the scheduler forms, as benchmarks/padding.py counts it, with fewer seeds."""

import random
from collections.abc import Callable, Sequence

import pytest
from speech_container.pace import Pace

from benchmarks.fairness import PHONEMES_A_SECOND, serve_with_scheduler
from benchmarks.padding import (
    LONGEST_WORDS,
    MIXES,
    MOST,
    SHORTEST_WORDS,
    STEP_S,
    Padding,
    arrivals,
    measure,
    seconds,
)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("listeners", [1, 60, 300])
def test_padding_costs_at_most_a_fifth_whoever_comes_together(mix: str, listeners: int) -> None:
    padding = measure(MIXES[mix], listeners, seeds=1)
    assert 0 < padding.cost <= MOST
    assert padding.frames <= padding.rounded <= padding.padded


@pytest.mark.parametrize("mix", MIXES)
def test_a_full_batch_in_one_pass_would_cost_more(mix: str) -> None:
    padding = measure(MIXES[mix], 300, seeds=1)
    assert padding.sentences / padding.steps > 4
    assert padding.in_one_pass / padding.frames - 1 > 2 * MOST
    assert padding.passes < padding.sentences, "and one pass for each sentence would be no batch"


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_the_mixes_are_of_three_to_forty_words(mix: Callable[[random.Random], int]) -> None:
    chance = random.Random(0)
    drawn = [mix(chance) for _ in range(2000)]
    assert (min(drawn), max(drawn)) == (SHORTEST_WORDS, LONGEST_WORDS)


def test_the_scheduler_estimates_such_steps_rightly_in_the_mean() -> None:
    """An engine that pays for a step, and for padded frames, and not for phonemes."""
    pace, padding = Pace(), Padding()
    estimated_s: list[float] = []
    took_s: list[float] = []

    def engine(audio_s: Sequence[float]) -> float:
        phonemes = round(sum(audio_s) * PHONEMES_A_SECOND)
        took_s.append(padding(audio_s))
        estimated_s.append(pace.takes_s(phonemes, len(audio_s)))
        pace.measured(len(audio_s), phonemes, took_s[-1], sum(audio_s))
        return took_s[-1]

    serve_with_scheduler(arrivals(MIXES["as spoken"], 150, seed=0), engine=engine)
    assert len(took_s) > 200
    assert min(took_s) > STEP_S
    assert sum(estimated_s[20:]) == pytest.approx(sum(took_s[20:]), rel=0.15)


def test_the_simulated_sentences_last_as_long_as_kokoros() -> None:
    assert seconds(14) == pytest.approx(5.0, rel=0.1), "200 frames were measured"
