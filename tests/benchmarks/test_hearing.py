"""The recogniser's ear: what it is given of a sound is what is below half its rate, and nothing else."""

import numpy as np
import pytest

from tests.hearing import WHISPER_RATE_HZ, resampled

RATE_HZ = 24_000
MIDDLE = slice(WHISPER_RATE_HZ // 10, -WHISPER_RATE_HZ // 10)  # a tone that begins has every frequency


def tone(hertz: int, rate_hz: int) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * np.arange(rate_hz) / rate_hz).astype(np.float32)


@pytest.mark.parametrize("hertz", [100, 1_000, 7_000])
def test_a_tone_that_it_can_hear_is_the_same_tone(hertz: int) -> None:
    heard = resampled(tone(hertz, RATE_HZ), RATE_HZ)
    assert len(heard) == WHISPER_RATE_HZ
    np.testing.assert_allclose(heard[MIDDLE], tone(hertz, WHISPER_RATE_HZ)[MIDDLE], atol=1e-4)


@pytest.mark.parametrize("hertz", [9_000, 10_500, 11_900])
def test_a_tone_above_it_leaves_nothing(hertz: int) -> None:
    """Folded back it would be a hiss at 7, 5.5 or 4.1 kHz, where an "s" is told from a "sh"."""
    assert np.abs(resampled(tone(hertz, RATE_HZ), RATE_HZ)[MIDDLE]).max() < 1e-4
