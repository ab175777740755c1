"""A table predicts, knows what it was made for, and is refused where it is not what it says."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kokoro_weights.errors import StatisticsRefused
from kokoro_weights.generator_norms import CHANNELS
from kokoro_weights.norm_statistics import (
    ENTERING,
    FEATURES,
    FORMAT,
    STATISTICS,
    Calibrated,
    NormStatistics,
    as_statistics,
    features,
)
from kokoro_weights.sketch import SKETCHED, SKETCHED_CHANNELS
from numpy.typing import NDArray

RANK = 2


@pytest.fixture
def table() -> NormStatistics:
    chance = np.random.default_rng(3)

    def normal(*shape: int, scale: float = 1.0) -> NDArray[np.float32]:
        return np.float32(scale) * chance.standard_normal(shape, dtype=np.float32)

    calibrated = Calibrated(("model",), {"af_heart": "a", "bm_george": "b"}, "text")
    features, statistics = normal(2, FEATURES), normal(2, STATISTICS, scale=0.25)
    slopes = normal(FEATURES - ENTERING, scale=0.5)
    feature_map, statistics_map = normal(FEATURES, RANK, scale=0.01), normal(RANK, STATISTICS, scale=0.25)
    scales = np.float32(1) + chance.random(FEATURES, dtype=np.float32)
    return NormStatistics(calibrated, features, statistics, slopes, scales, feature_map, statistics_map)


def test_features_are_means_and_log_variances_of_what_enters_the_generator_and_of_its_sketch() -> None:
    decoded = np.zeros((1, 512, 8), dtype=np.float32)
    decoded[0, 3] = [1, 3, 1, 3, 1, 3, 1, 3]
    harmonics = np.full((1, 22, 481), 0.5, dtype=np.float32)
    sketch = np.arange(1, SKETCHED_CHANNELS + 1, dtype=np.float32).reshape(1, -1, 1)
    found = features(decoded, harmonics, -sketch, sketch)
    assert found.shape == (FEATURES,)
    assert found.dtype == np.float32
    assert (found[3], found[512 + 3]) == (2.0, 0.0)
    assert found[512] == pytest.approx(np.log(1e-6)), "a channel that never moves"
    assert list(found[1024:1046]) == [0.5] * 22
    assert list(found[ENTERING : ENTERING + 3]) == [-1, -2, -3]
    assert found[-1] == pytest.approx(np.log(SKETCHED_CHANNELS))


def test_a_voice_that_says_what_it_always_says_has_its_means(table: NormStatistics) -> None:
    means, variances = table.predict(table.voice_features[1], {"bm_george": 1.0})
    np.testing.assert_allclose(as_statistics(means, variances), table.voice_statistics[1], atol=1e-6)


def test_what_is_said_moves_the_statistics_by_the_map(table: NormStatistics) -> None:
    step = np.random.default_rng(1).standard_normal(FEATURES, dtype=np.float32)
    step[ENTERING:] = 0
    means, variances = table.predict(table.voice_features[0] + step, {"af_heart": 1.0})
    expected = table.voice_statistics[0] + step / table.feature_scales @ table.feature_map @ table.statistics_map
    np.testing.assert_allclose(as_statistics(means, variances), expected, atol=1e-5)


def test_a_sketched_statistic_moves_by_its_own_share_besides(table: NormStatistics) -> None:
    step = np.zeros(FEATURES, dtype=np.float32)
    step[ENTERING + 5] = step[ENTERING + SKETCHED_CHANNELS + 7] = 1.0
    statistics = as_statistics(*table.predict(table.voice_features[0] + step, {"af_heart": 1.0}))
    by_map = step / table.feature_scales @ table.feature_map @ table.statistics_map
    moved = statistics - table.voice_statistics[0] - by_map
    own = {SKETCHED.start + 5: 5, CHANNELS + SKETCHED.start + 7: SKETCHED_CHANNELS + 7}
    for statistic, slope in own.items():
        assert moved[statistic] == pytest.approx(table.sketch_slopes[slope], abs=1e-5)
    moved[list(own)] = 0
    np.testing.assert_allclose(moved, 0, atol=1e-5)


def test_a_blend_has_the_weighted_mean_of_its_voices(table: NormStatistics) -> None:
    shares = {"af_heart": 0.25, "bm_george": 0.75}
    middle = 0.25 * table.voice_features[0] + 0.75 * table.voice_features[1]
    means, _ = table.predict(middle, shares)
    expected = 0.25 * table.voice_statistics[0] + 0.75 * table.voice_statistics[1]
    np.testing.assert_allclose(means, expected[:CHANNELS], atol=1e-5)


def test_it_knows_blends_of_its_voices_only(table: NormStatistics) -> None:
    assert table.knows({"af_heart": 1.0})
    assert table.knows({"af_heart": 0.5, "bm_george": 0.5})
    assert not table.knows({"af_heart": 0.5, "af_sky": 0.5})
    assert not table.knows({})


def test_the_file_says_the_same_within_half_precision(table: NormStatistics) -> None:
    data = table.render()
    assert data == table.render(), "the same bytes each time"
    again = NormStatistics.parse(data)
    assert again.calibrated == table.calibrated
    for name in ("voice_features", "sketch_slopes", "feature_scales"):
        np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
    for name in ("voice_statistics", "feature_map", "statistics_map"):
        np.testing.assert_allclose(getattr(again, name), getattr(table, name), atol=1e-3)
        assert getattr(again, name).dtype == np.float32
    assert again.render() == data


def test_a_voice_whose_bytes_have_changed_is_not_calibrated(table: NormStatistics) -> None:
    left = table.of_voices({"af_heart": "other", "bm_george": "b", "new": "n"})
    assert left.voices == ("bm_george",)
    means, _ = left.predict(table.voice_features[1], {"bm_george": 1.0})
    np.testing.assert_allclose(means, table.voice_statistics[1][:CHANNELS], atol=1e-6)


@pytest.mark.parametrize("data", [b"", b"not a table", b"PK\x03\x04 and no more"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(StatisticsRefused, match="calibrate again"):
        NormStatistics.parse(data)


@pytest.mark.parametrize(
    "changed",
    [
        {"voice_features": np.zeros((1, FEATURES))},
        {"voice_statistics": np.zeros((2, 5))},
        {"sketch_slopes": np.zeros(FEATURES)},
        {"feature_scales": np.ones(5)},
        {"feature_map": np.zeros((FEATURES, RANK + 1))},
        {"feature_map": np.zeros(FEATURES)},
        {"statistics_map": np.full((RANK, STATISTICS), np.nan)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(table: NormStatistics, changed: dict[str, NDArray[np.float64]]) -> None:
    arrays: dict[str, Any] = {name: array.astype(np.float32) for name, array in changed.items()}
    data = replace(table, **arrays).render()
    with pytest.raises(StatisticsRefused, match="calibrate again"):
        NormStatistics.parse(data)


def test_a_table_with_objects_in_it_is_not_unpickled(table: NormStatistics) -> None:
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: np.zeros(1) for name in ("voice_features", "voice_statistics", "feature_map")}
    np.savez(file, header=np.array([{"format": 1}], dtype=object), statistics_map=np.zeros(1), **arrays)
    with pytest.raises(StatisticsRefused):
        NormStatistics.parse(file.getvalue())


def test_another_format_is_refused(table: NormStatistics) -> None:
    with np.load(io.BytesIO(table.render())) as file:
        arrays = dict(file)
    header = arrays["header"].tobytes().replace(f'"format": {FORMAT}'.encode(), b'"format": 99')
    arrays["header"] = np.frombuffer(header, dtype=np.uint8)
    other = io.BytesIO()
    np.savez(other, **arrays)
    with pytest.raises(StatisticsRefused, match=f"expected format {FORMAT}, found 99"):
        NormStatistics.parse(other.getvalue())
