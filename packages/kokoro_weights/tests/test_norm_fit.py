"""A table is fitted: what truly depends on the features is found, what does not is left at the voice's mean."""

from __future__ import annotations

import numpy as np
import pytest
from kokoro_weights.generator_norms import CHANNELS
from kokoro_weights.norm_fit import fit
from kokoro_weights.norm_statistics import (
    ENTERING,
    FEATURES,
    OF_SKETCH,
    STATISTICS,
    Calibrated,
    NormStatistics,
    Records,
    as_statistics,
)
from kokoro_weights.sketch import LOWER_CHANNELS, SKETCHED_CHANNELS

CALIBRATED = Calibrated(("m",), {"high": "1", "low": "2"}, "t")
CAUSES = 3
SENTENCES = 40
STRENGTHS = (9.0, 6.0, 3.0)


class World:
    """Two voices with means of their own, and statistics that follow three directions of the features.

    `alone`: how much each feature moves by itself; `sketch`: how much of that its statistic does too.
    """

    def __init__(self, *, alone: float = 0.1, sketch: float = 0.0) -> None:
        chance = np.random.default_rng(7)
        self.causes = np.linalg.qr(chance.standard_normal((FEATURES, CAUSES)))[0] * np.sqrt(FEATURES) / 10
        self.effects = chance.standard_normal((CAUSES, STATISTICS)) / 100
        self.feature_means = {name: 10 * chance.standard_normal(FEATURES) for name in CALIBRATED.voices}
        self.statistics_means = {name: chance.standard_normal(STATISTICS) for name in CALIBRATED.voices}
        self.alone, self.sketch = alone, sketch
        self._chance = chance

    def speak(self, voice: str, sentences: int) -> Records:
        hidden = self._chance.standard_normal((sentences, CAUSES)) * STRENGTHS
        by_itself = self.alone * self._chance.standard_normal((sentences, FEATURES))
        statistics = self.statistics_means[voice] + hidden @ self.effects
        statistics[:, OF_SKETCH] += self.sketch * by_itself[:, ENTERING:]
        features = self.feature_means[voice] + hidden @ self.causes.T + by_itself
        return Records(features.astype(np.float32), statistics.astype(np.float32))


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def spoken(world: World) -> dict[str, Records]:
    return {voice: world.speak(voice, SENTENCES) for voice in CALIBRATED.voices}


def fitted(
    spoken: dict[str, Records],
    *,
    rank: int = CAUSES,
    ridge: float = 1e-3,
    shares: tuple[float, float] = (0.0, 0.0),
) -> NormStatistics:
    return fit(list(CALIBRATED.voices), spoken.__getitem__, CALIBRATED, rank=rank, ridge=ridge, shares=shares)


@pytest.fixture(scope="module")
def table(spoken: dict[str, Records]) -> NormStatistics:
    return fitted(spoken)


def errors(table: NormStatistics, records: Records, voice: str) -> np.ndarray:
    """float [sentences, statistics]."""
    predicted = [as_statistics(*table.predict(features, {voice: 1.0})) for features in records.features]
    return np.array(predicted) - records.statistics


def error(table: NormStatistics, records: Records, voice: str) -> float:
    """Root mean square over all statistics of all sentences."""
    return float(np.sqrt(np.mean(np.square(errors(table, records, voice)))))


def test_sentences_that_were_left_out_are_predicted(world: World, table: NormStatistics) -> None:
    for voice in CALIBRATED.voices:
        later = world.speak(voice, 10)
        by_mean = float(np.sqrt(np.mean((later.statistics - table.voice_statistics[table.voices.index(voice)]) ** 2)))
        assert error(table, later, voice) < 0.1 * by_mean


def test_a_voices_own_means_count(world: World, table: NormStatistics) -> None:
    later = world.speak("high", 10)
    assert error(table, later, "low") > 10 * error(table, later, "high")


def test_the_map_is_no_larger_than_its_rank(table: NormStatistics) -> None:
    assert table.feature_map.shape == (FEATURES, CAUSES)
    assert table.statistics_map.shape == (CAUSES, STATISTICS)


def test_the_best_directions_are_kept_first(world: World, spoken: dict[str, Records], table: NormStatistics) -> None:
    poorer = fitted(spoken, rank=2)
    later = world.speak("low", 20)
    weakest_part = float(np.sqrt(np.mean(np.square(STRENGTHS[2] * world.effects[2]))))
    assert error(poorer, later, "low") == pytest.approx(weakest_part, rel=0.4), "only the weakest direction is lost"
    assert error(table, later, "low") < 0.3 * error(poorer, later, "low")


def test_a_strong_ridge_leaves_the_means(world: World, spoken: dict[str, Records]) -> None:
    table = fitted(spoken, ridge=1e9)
    means, _ = table.predict(world.speak("low", 1).features[0], {"low": 1.0})
    np.testing.assert_allclose(means, table.voice_statistics[1][: len(means)], atol=1e-3)


def test_what_each_sketched_channel_does_by_itself_is_found_at_either_rate() -> None:
    world = World(alone=2.0, sketch=0.7)
    spoken = {voice: world.speak(voice, SENTENCES) for voice in CALIBRATED.voices}
    later = world.speak("high", 10)

    def of_rates(shares: tuple[float, float]) -> list[float]:
        left = np.abs(errors(fitted(spoken, shares=shares, ridge=1.0), later, "high")[:, OF_SKETCH])
        means_and_variances = left.reshape(len(left), 2, SKETCHED_CHANNELS)
        return [float(part.mean()) for part in np.split(means_and_variances, [LOWER_CHANNELS], axis=2)]

    neither, lower, higher, both = map(of_rates, [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
    assert lower[0] < 0.3 * neither[0]
    assert lower[1] == pytest.approx(neither[1], rel=0.1)
    assert higher[0] == pytest.approx(neither[0], rel=0.1)
    assert higher[1] < 0.3 * neither[1]
    assert both == pytest.approx([lower[0], higher[1]], rel=0.1)


def test_means_count_in_deviations_of_their_channel() -> None:
    """Of two directions a map of rank 1 keeps that which moves means of quiet channels, not the larger one."""
    chance = np.random.default_rng(5)
    hidden = chance.standard_normal((SENTENCES, 2))
    features = np.zeros((SENTENCES, FEATURES), dtype=np.float32)
    features[:, :2] = hidden
    statistics = np.zeros((SENTENCES, STATISTICS), dtype=np.float32)
    statistics[:, 0] = 0.1 * hidden[:, 0]
    statistics[:, CHANNELS] = -10.0  # the log variance of a channel that hardly moves
    statistics[:, 1] = 1.0 * hidden[:, 1]
    spoken = {voice: Records(features, statistics) for voice in CALIBRATED.voices}
    table = fitted(spoken, rank=1)
    left = errors(table, Records(features, statistics), "low")
    assert np.abs(left[:, 0]).max() < 0.01
    assert np.abs(left[:, 1]).mean() > 0.5


def test_records_with_another_source_teach_the_map_and_leave_the_means() -> None:
    """Three sentences of a voice cannot tell what follows what; those beside them do, whatever their own means are."""
    world = World(alone=0.5)
    few = {voice: world.speak(voice, 3) for voice in CALIBRATED.voices}
    many = {voice: world.speak(voice, SENTENCES) for voice in CALIBRATED.voices}
    away = {voice: Records(found.features + 5, found.statistics - 2) for voice, found in many.items()}
    alone = fitted(few)
    names = list(CALIBRATED.voices)
    taught = fit(
        names, few.__getitem__, CALIBRATED, beside=away.__getitem__, rank=CAUSES, ridge=1e-3, shares=(0.0, 0.0)
    )
    assert taught.voices == alone.voices
    np.testing.assert_array_equal(taught.voice_features, alone.voice_features)
    np.testing.assert_array_equal(taught.voice_statistics, alone.voice_statistics)
    later = world.speak("low", 10)
    moved = later.statistics - later.statistics.mean(axis=0)

    def unexplained(table: NormStatistics) -> float:
        left = errors(table, later, "low")
        return float(np.square(left - left.mean(axis=0)).mean() / np.square(moved).mean())

    assert unexplained(taught) < 0.5 * unexplained(alone)
    none = Records(np.empty((0, FEATURES), dtype=np.float32), np.empty((0, STATISTICS), dtype=np.float32))
    same = fit(names, few.__getitem__, CALIBRATED, beside=lambda _: none, rank=CAUSES, ridge=1e-3, shares=(0.0, 0.0))
    np.testing.assert_array_equal(same.feature_map, alone.feature_map)
