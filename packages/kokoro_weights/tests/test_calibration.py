"""A calibration goes on where it stopped, and measures nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from kokoro_weights.calibration import Calibration
from kokoro_weights.calibration_text import calibration_lines
from kokoro_weights.errors import CacheBusy, SourceUnknown, VoiceMissing
from kokoro_weights.norm_statistics import FEATURES, STATISTICS
from kokoro_weights.staging import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kokoro_weights.directory import WeightsDirectory
    from numpy.typing import NDArray


class Listener:
    """An observer that counts, and that may have enough."""

    def __init__(self, patience: int = 10**6) -> None:
        self.heard: list[tuple[int, float]] = []
        self._patience = patience

    def __call__(
        self, token_ids: Sequence[int], style: NDArray[np.float32], speed: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if len(self.heard) == self._patience:
            raise KeyboardInterrupt
        self.heard.append((len(token_ids), speed))
        number = np.float32(len(self.heard))
        return np.full(FEATURES, number, dtype=np.float32), np.full(STATISTICS, -number, dtype=np.float32)


def quiet(voice: str, done: int, total: int) -> None:
    """Nobody looks."""


@pytest.fixture
def weights(speaking: Callable[..., WeightsDirectory]) -> WeightsDirectory:
    """Two voices, and a vocabulary of all phonemes."""
    return speaking("af_heart", "ef_dora")


def test_every_sentence_of_every_voice_is_measured(weights: WeightsDirectory, tmp_path: Path) -> None:
    listener = Listener()
    calibration = Calibration(weights, tmp_path, listener)
    calibration.run(["af_heart", "ef_dora"], quiet)
    lines = [*calibration_lines("af_heart"), *calibration_lines("ef_dora")]
    assert listener.heard == [(len(line.phonemes), line.speed) for line in lines]
    records = calibration.records("ef_dora")
    sentences = len(calibration_lines("ef_dora"))
    assert (records.features.shape, records.statistics.shape) == ((sentences, FEATURES), (sentences, STATISTICS))
    assert records.features[0, 0] == -records.statistics[0, 0] == len(calibration_lines("af_heart")) + 1


def test_what_was_interrupted_goes_on_where_it_stopped(weights: WeightsDirectory, tmp_path: Path) -> None:
    first = len(calibration_lines("af_heart"))
    with pytest.raises(KeyboardInterrupt):
        Calibration(weights, tmp_path, Listener(first + 11)).run(["af_heart", "ef_dora"], quiet)
    later = Listener()
    Calibration(weights, tmp_path, later).run(["af_heart", "ef_dora"], quiet)
    expected = [(len(line.phonemes), line.speed) for line in calibration_lines("ef_dora")]
    assert later.heard == expected[8:], "the last three were not written down yet"
    again = Listener()
    Calibration(weights, tmp_path, again).run(["ef_dora", "af_heart"], quiet)
    assert again.heard == []


def test_the_first_sentences_can_be_measured_first(weights: WeightsDirectory, tmp_path: Path) -> None:
    one, more = Listener(), Listener()
    calibration = Calibration(weights, tmp_path, one)
    calibration.run(["af_heart", "ef_dora"], quiet, sentences=5)
    assert len(calibration.records("ef_dora").features) == 5
    Calibration(weights, tmp_path, more).run(["ef_dora"], quiet, sentences=7)
    expected = [(len(line.phonemes), line.speed) for line in calibration_lines("ef_dora")]
    assert (one.heard[5:], more.heard) == (expected[:5], expected[5:7])
    Calibration(weights, tmp_path, Listener()).run(["ef_dora"], quiet, sentences=3)
    assert len(calibration.records("ef_dora").features) == 7, "nothing is forgotten"


def test_progress_counts_sentences_whether_they_are_measured_or_were(weights: WeightsDirectory, tmp_path: Path) -> None:
    Calibration(weights, tmp_path, Listener()).run(["af_heart"], quiet)
    told: list[tuple[str, int, int]] = []
    Calibration(weights, tmp_path, Listener()).run(
        ["af_heart", "ef_dora"], lambda voice, done, total: told.append((voice, done, total))
    )
    first, total = (
        sum(len(calibration_lines(v)) for v in voices) for voices in (["af_heart"], ["af_heart", "ef_dora"])
    )
    assert told[0] == ("af_heart", first, total)
    assert told[1] == ("ef_dora", first, total)
    assert told[-1] == ("ef_dora", total, total)


def test_other_weights_have_records_of_their_own(speaking: Callable[..., WeightsDirectory], tmp_path: Path) -> None:
    one, other = (Calibration(speaking("af_heart", seed=seed), tmp_path, Listener()) for seed in (1, 2))
    one.run(["af_heart"], quiet)
    assert one.place != other.place
    assert not other.place.exists()


def test_a_source_with_noise_has_records_of_its_own_and_its_table_says_so(
    weights: WeightsDirectory, tmp_path: Path
) -> None:
    plain, noisy = (Calibration(weights, tmp_path, Listener(), noise=noise) for noise in (False, True))
    assert plain.place != noisy.place
    noisy.run(["af_heart"], quiet, sentences=2)
    assert len(plain.records("af_heart").features) == 0
    assert noisy.fit(["af_heart"]).calibrated.noise
    plain.run(["af_heart"], quiet, sentences=2)
    assert not plain.fit(["af_heart"]).calibrated.noise


def test_a_voice_that_is_not_there_is_missed(weights: WeightsDirectory, tmp_path: Path) -> None:
    with pytest.raises(VoiceMissing, match="'af_sky' is not one of the 2"):
        Calibration(weights, tmp_path, Listener()).run(["af_sky"], quiet)


def test_two_at_once_do_not_measure_the_same(weights: WeightsDirectory, tmp_path: Path) -> None:
    calibration = Calibration(weights, tmp_path, Listener())
    with locked(calibration.place, timeout_s=1), pytest.raises(CacheBusy):
        calibration.run(["af_heart"], quiet)


def test_weights_without_an_export_cannot_be_measured(
    speaking: Callable[..., WeightsDirectory], tmp_path: Path
) -> None:
    with pytest.raises(SourceUnknown, match="expected an ONNX export"):
        Calibration(speaking("af_heart", model="model.safetensors"), tmp_path).run(["af_heart"], quiet)


@pytest.mark.weights
@pytest.mark.timeout(300)
@pytest.mark.parametrize("noise", [False, True])
def test_a_real_sentence_is_measured_as_it_is_spoken(noise: bool) -> None:
    from kokoro_weights import prepare
    from kokoro_weights.calibration import ExportObserver

    weights = prepare("packages")
    observe = ExportObserver(weights, threads=2, noise=noise)
    token_ids = [50, 83, 54, 156, 31, 16, 81, 86, 123, 4]  # "həlˈO ðɛɹ."
    (features, statistics), (other, moved) = (
        observe(token_ids, weights.voice(voice)[len(token_ids) - 1], 1.0) for voice in ("af_heart", "bm_george")
    )
    assert (features.shape, statistics.shape) == ((FEATURES,), (STATISTICS,))
    assert np.isfinite(features).all()
    assert np.isfinite(statistics).all()
    assert float(np.abs(features - other).mean()) > 0.05
    assert float(np.abs(statistics - moved).mean()) > 0.01
