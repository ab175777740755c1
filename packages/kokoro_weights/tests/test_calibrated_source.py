"""A directory with a table of its own, the table of this package, and tables that belong to other weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from kokoro_weights.calibrated_source import CalibratedSource
from kokoro_weights.calibration import calibrate
from kokoro_weights.calibration_text import text_digest
from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.errors import HashMismatch, StatisticsRefused
from kokoro_weights.manifest import NOISE_STATISTICS_PATH, STATISTICS_PATH
from kokoro_weights.norm_statistics import ENTERING, FEATURES, STATISTICS, Calibrated, NormStatistics
from kokoro_weights.pins import load, shipped_statistics
from kokoro_weights.preparation import Place, prepare, prepare_from
from kokoro_weights.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


def table_for(weights: WeightsDirectory, *voices: str, models: tuple[str, ...] = (), noise: bool = False) -> bytes:
    """A table of nothing but ones."""
    entries = {voice: weights.manifest.entry(f"voices/{voice}.bin") for voice in voices}
    digests = {voice: entry.sha256 for voice, entry in entries.items() if entry is not None}
    calibrated = Calibrated(models or tuple(weights.model_digests), digests, "text", noise)
    own = FEATURES - ENTERING
    arrays = ((len(voices), FEATURES), (len(voices), STATISTICS), (own,), (FEATURES,), (FEATURES, 1), (1, STATISTICS))
    return NormStatistics(calibrated, *(np.ones(shape, dtype=np.float32) for shape in arrays)).render()


@pytest.fixture
def weights(speaking: Callable[..., WeightsDirectory]) -> WeightsDirectory:
    return speaking("af_heart", "ef_dora")


def calibrated(weights: WeightsDirectory, table: bytes, cache: Path) -> WeightsDirectory:
    return prepare_from(CalibratedSource(weights, table), Place(cache))


def test_a_calibrated_directory_has_everything_and_its_table(weights: WeightsDirectory, cache: Path) -> None:
    made = calibrated(weights, table_for(weights, "ef_dora"), cache)
    made.verify()
    assert {entry.path for entry in made.manifest.files} == {
        STATISTICS_PATH,
        *(entry.path for entry in weights.manifest.files),
    }
    assert made.manifest.content != weights.manifest.content, "another version of the weights"
    table = made.norm_statistics()
    assert table is not None
    assert table.voices == ("ef_dora",)
    assert summary(made)["calibrated_voices"] == 1


def test_the_same_table_makes_the_same_directory_once(weights: WeightsDirectory, cache: Path) -> None:
    first, again, other = (
        calibrated(weights, table_for(weights, *voices), cache)
        for voices in (("ef_dora",), ("ef_dora",), ("af_heart",))
    )
    assert first.path == again.path != other.path


def test_a_directory_that_has_a_table_gets_the_new_one(weights: WeightsDirectory, cache: Path) -> None:
    first = calibrated(weights, table_for(weights, "ef_dora"), cache)
    table = calibrated(first, table_for(weights, "af_heart"), cache).norm_statistics()
    assert table is not None
    assert table.voices == ("af_heart",)


def test_a_table_of_other_weights_is_refused(weights: WeightsDirectory, cache: Path) -> None:
    made = calibrated(weights, table_for(weights, "ef_dora", models=("0" * 64,)), cache)
    with pytest.raises(StatisticsRefused, match="made for other weights"):
        made.norm_statistics()


def test_a_table_whose_bytes_have_changed_is_refused(weights: WeightsDirectory, cache: Path) -> None:
    made = calibrated(weights, table_for(weights, "ef_dora"), cache)
    data = bytearray((made.path / STATISTICS_PATH).read_bytes())
    data[-100] ^= 1
    (made.path / STATISTICS_PATH).write_bytes(data)
    with pytest.raises(HashMismatch, match=STATISTICS_PATH):
        made.norm_statistics()


def test_a_table_with_noise_stands_beside_the_other(weights: WeightsDirectory, cache: Path) -> None:
    first = calibrated(weights, table_for(weights, "ef_dora"), cache)
    made = prepare_from(CalibratedSource(first, table_for(weights, "af_heart", noise=True), noise=True), Place(cache))
    made.verify()
    assert {STATISTICS_PATH, NOISE_STATISTICS_PATH} < {entry.path for entry in made.manifest.files}
    plain, noisy = made.norm_statistics(), made.norm_statistics(noise=True)
    assert plain is not None
    assert noisy is not None
    assert (plain.voices, noisy.voices) == (("ef_dora",), ("af_heart",))
    assert (plain.calibrated.noise, noisy.calibrated.noise) == (False, True)
    assert first.norm_statistics(noise=True) is None
    assert [summary(each)["calibrated_voices_noise"] for each in (first, made)] == [0, 1]


@pytest.mark.parametrize("noise", [False, True])
def test_a_table_of_the_other_source_is_refused(weights: WeightsDirectory, cache: Path, noise: bool) -> None:
    table = table_for(weights, "ef_dora", noise=not noise)
    made = prepare_from(CalibratedSource(weights, table, noise=noise), Place(cache))
    with pytest.raises(StatisticsRefused, match=f"measured {'without' if noise else 'with'} noise"):
        made.norm_statistics(noise=noise)


def test_a_table_that_is_too_long_is_not_read(
    weights: WeightsDirectory, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = calibrated(weights, table_for(weights, "ef_dora"), cache)
    monkeypatch.setattr("kokoro_weights.norm_statistics.MAX_TABLE_BYTES", 1000)
    with pytest.raises(StatisticsRefused, match="expected at most 1,000 bytes"):
        made.norm_statistics()


def test_this_packages_table_is_not_for_other_weights(weights: WeightsDirectory) -> None:
    assert weights.norm_statistics() is None
    assert summary(weights)["calibrated_voices"] == 0


@pytest.mark.parametrize(("path", "noise"), [(STATISTICS_PATH, False), (NOISE_STATISTICS_PATH, True)])
def test_this_packages_table_is_the_pinned_one_and_has_every_pinned_voice_of_the_pinned_weights(
    path: str, noise: bool
) -> None:
    pins = load()
    table = NormStatistics.parse(shipped_statistics(path))
    assert table.calibrated.noise is noise
    assert set(table.calibrated.models) == {pins.packages.model.sha256, pins.dequantised.sha256}
    assert table.calibrated.voices == pins.voices
    assert table.calibrated.text == text_digest(), "measured on another text than the one that is here"


@pytest.mark.weights
@pytest.mark.parametrize("noise", [False, True])
def test_the_packaged_weights_come_calibrated_for_voices_and_blends(noise: bool) -> None:
    table = prepare("packages").norm_statistics(noise=noise)
    assert table is not None
    assert table.knows({"zm_yunyang": 1.0})
    assert table.knows({"af_heart": 0.5, "bm_george": 0.5})


def test_what_is_measured_becomes_a_directory(weights: WeightsDirectory, cache: Path) -> None:
    chance = np.random.default_rng(5)

    def observe(
        token_ids: Sequence[int], style: NDArray[np.float32], speed: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        noise = chance.standard_normal(FEATURES + STATISTICS, dtype=np.float32)
        return noise[:FEATURES], noise[FEATURES:] + 10 * style[0]

    told: list[tuple[str, int, int]] = []
    made = calibrate(
        weights,
        voices=["ef_dora"],
        cache=cache,
        progress=lambda voice, done, total: told.append((voice, done, total)),
        observe=observe,
    )
    table = made.norm_statistics()
    assert table is not None
    assert table.voices == ("ef_dora",)
    assert told[-1] == ("ef_dora", told[-1][2], told[-1][2])
    means, _ = table.predict(table.voice_features[0], {"ef_dora": 1.0})
    assert float(means.mean()) == pytest.approx(10 * float(weights.voice("ef_dora")[:, 0].mean()), abs=2)
    assert made.path.parent == cache
