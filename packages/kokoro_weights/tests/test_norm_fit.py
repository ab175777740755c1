"""A table is fitted: what truly depends on the features is found, what does not is left at the voice's mean."""

from __future__ import annotations

import numpy as np
import pytest
from kokoro_weights.norm_fit import fit
from kokoro_weights.norm_statistics import Calibrated, NormStatistics, Records

CALIBRATED = Calibrated(("m",), {"high": "1", "low": "2"}, "t")
FEATURES, STATISTICS = 60, 400
"""Fewer than a generator has: the fit takes what it is given."""
CAUSES = 3
SENTENCES = 40


class World:
    """Two voices with means of their own, and statistics that follow three directions of the features."""

    def __init__(self) -> None:
        chance = np.random.default_rng(7)
        self.causes = np.linalg.qr(chance.standard_normal((FEATURES, CAUSES)))[0]
        self.effects = chance.standard_normal((CAUSES, STATISTICS)) / 10
        self.feature_means = {name: 10 * chance.standard_normal(FEATURES) for name in CALIBRATED.voices}
        self.statistics_means = {name: chance.standard_normal(STATISTICS) for name in CALIBRATED.voices}
        self._chance = chance

    def speak(self, voice: str, sentences: int) -> Records:
        hidden = self._chance.standard_normal((sentences, CAUSES)) * [9.0, 6.0, 3.0]
        features = self.feature_means[voice] + hidden @ self.causes.T
        features = features + 0.01 * self._chance.standard_normal(features.shape)
        return Records(
            features.astype(np.float32), (self.statistics_means[voice] + hidden @ self.effects).astype(np.float32)
        )


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def spoken(world: World) -> dict[str, Records]:
    return {voice: world.speak(voice, SENTENCES) for voice in CALIBRATED.voices}


@pytest.fixture(scope="module")
def table(spoken: dict[str, Records]) -> NormStatistics:
    return fit(list(CALIBRATED.voices), spoken.__getitem__, CALIBRATED, rank=CAUSES, ridge=1e-4)


def error(table: NormStatistics, records: Records, shares: dict[str, float]) -> float:
    """Root mean square over all statistics of all sentences."""
    errors = []
    for features, statistics in zip(records.features, records.statistics, strict=True):
        means, variances = table.predict(features, shares)
        errors.append(np.concatenate([means, np.log(variances)]) - statistics)
    return float(np.sqrt(np.mean(np.square(errors))))


def test_sentences_that_were_left_out_are_predicted(world: World, table: NormStatistics) -> None:
    for voice in CALIBRATED.voices:
        later = world.speak(voice, 10)
        by_mean = float(np.sqrt(np.mean((later.statistics - table.voice_statistics[table.voices.index(voice)]) ** 2)))
        assert error(table, later, {voice: 1.0}) < 0.05 * by_mean


def test_a_voices_own_means_count(world: World, table: NormStatistics) -> None:
    later = world.speak("high", 10)
    assert error(table, later, {"low": 1.0}) > 10 * error(table, later, {"high": 1.0})


def test_the_map_is_no_larger_than_its_rank(table: NormStatistics) -> None:
    assert table.feature_map.shape == (FEATURES, CAUSES)
    assert table.statistics_map.shape == (CAUSES, STATISTICS)


def test_the_best_directions_are_kept_first(world: World, spoken: dict[str, Records], table: NormStatistics) -> None:
    poorer = fit(list(CALIBRATED.voices), spoken.__getitem__, CALIBRATED, rank=2, ridge=1e-4)
    later = world.speak("low", 20)
    strongest = error(table, later, {"low": 1.0}), error(poorer, later, {"low": 1.0})
    weakest_part = float(np.sqrt(np.mean(np.square(3.0 * world.effects[2]))))
    assert strongest[1] == pytest.approx(weakest_part, rel=0.4), "only the weakest direction is lost"
    assert strongest[0] < 0.1 * strongest[1]


def test_a_strong_ridge_leaves_the_means(world: World, spoken: dict[str, Records]) -> None:
    table = fit(list(CALIBRATED.voices), spoken.__getitem__, CALIBRATED, rank=CAUSES, ridge=1e9)
    means, _ = table.predict(world.speak("low", 1).features[0], {"low": 1.0})
    np.testing.assert_allclose(means, table.voice_statistics[1][: len(means)], atol=1e-3)
