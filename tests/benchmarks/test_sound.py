"""Distances between recordings, on sounds whose distances are known."""

import numpy as np
import pytest
from speech_container.engine import SAMPLE_RATE_HZ

from benchmarks.rig.sound import QUARTER_SAMPLES, Audio, Distance, loudness_changes_db, mel_filters

CHANCE = np.random.default_rng(11)
NOISE: Audio = CHANCE.standard_normal(2 * SAMPLE_RATE_HZ).astype(np.float32) * np.float32(0.1)


def test_a_recording_is_no_distance_from_itself() -> None:
    assert Distance.of(NOISE, NOISE) == Distance(0.0, 0.0, 0.0, 0.0, 0.0)


def test_half_the_amplitude_is_six_decibels_in_everything() -> None:
    found = Distance.of(NOISE, NOISE * np.float32(0.5))
    assert (found.loudness_mean, found.loudness_max) == pytest.approx((6.0206, 6.0206), abs=1e-3)
    assert (found.spectral, found.mel) == pytest.approx((6.02, 6.02), abs=0.01)


def test_two_noises_sound_alike_in_bands_and_not_in_bins() -> None:
    found = Distance.of(NOISE, CHANCE.standard_normal(len(NOISE)).astype(np.float32) * np.float32(0.1))
    assert found.spectral > 7
    assert found.mel < found.spectral / 1.5
    assert found.loudness_mean < 0.2


def test_one_quarter_that_is_louder_is_seen() -> None:
    louder = NOISE.copy()
    louder[2 * QUARTER_SAMPLES : 3 * QUARTER_SAMPLES] *= 10 ** (1.5 / 20)
    changes, is_speech = loudness_changes_db(NOISE, louder)
    assert is_speech.all()
    assert changes == pytest.approx([0, 0, 1.5, 0, 0, 0, 0, 0], abs=1e-4)
    assert Distance.of(NOISE, louder).loudness_max == pytest.approx(1.5, abs=1e-3)


def test_a_breath_is_told_apart_from_speech() -> None:
    breath = NOISE.copy()
    breath[QUARTER_SAMPLES : 2 * QUARTER_SAMPLES] *= np.float32(0.05)
    other = breath.copy()
    other[QUARTER_SAMPLES : 2 * QUARTER_SAMPLES] *= 2
    found = Distance.of(breath, other)
    assert (found.loudness_max, found.faint_max) == pytest.approx((0, 6.0206), abs=1e-3)


def test_what_is_not_heard_is_not_compared() -> None:
    quiet = NOISE.copy()
    quiet[QUARTER_SAMPLES:] *= np.float32(1e-4)
    other = quiet.copy()
    other[QUARTER_SAMPLES:] *= 3
    found = Distance.of(quiet, other)
    assert (found.loudness_max, found.spectral) == pytest.approx((0, 0), abs=0.1)


def test_recordings_of_other_lengths_are_not_compared() -> None:
    with pytest.raises(ValueError, match="expected 48000 samples"):
        Distance.of(NOISE, NOISE[:-1])


def test_each_band_lies_higher_than_the_one_before_and_none_is_empty() -> None:
    filters = mel_filters()
    peaks = filters.argmax(axis=1)
    assert (np.diff(peaks) >= 0).all()
    assert (filters.sum(axis=1) > 0).all()
