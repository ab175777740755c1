"""From one rate to the other."""

from typing import Any

import numpy as np
import pytest
from speech_container.resampler import RATES_HZ, Resampler


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_pieces_of_any_size_make_the_same_audio_as_the_whole(tone: Any, rate_hz: int) -> None:
    samples = tone(440)
    whole, pieces = Resampler(24_000, rate_hz), Resampler(24_000, rate_hz)
    cuts = np.cumsum([0, 1, 1, 7680, 5, 20_000, 333])
    once = np.concatenate([whole.feed(samples), whole.flush()])
    parts = np.concatenate([*map(pieces.feed, np.split(samples, cuts)), pieces.flush()])
    assert len(once) == round(len(samples) * rate_hz / 24_000)
    assert np.array_equal(once, parts)


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_the_first_sample_out_is_the_first_one_in(tone: Any, rate_hz: int) -> None:
    resampler = Resampler(24_000, rate_hz)
    out = np.concatenate([resampler.feed(tone(440)), resampler.flush()])
    time_s = np.arange(len(out)) / rate_hz
    middle = slice(len(out) // 4, len(out) // 2)
    assert np.abs(out - 0.5 * np.sin(2 * np.pi * 440 * time_s))[middle].max() < 1e-4


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_at_most_80_ms_are_held_back(tone: Any, rate_hz: int) -> None:
    resampler = Resampler(24_000, rate_hz)
    samples, given = tone(440), 0
    for end in range(24, len(samples), 24):
        given += len(resampler.feed(samples[end - 24 : end]))
        assert end / 24_000 - given / rate_hz <= 0.08


def test_what_the_lower_rate_cannot_hold_is_gone(tone: Any) -> None:
    resampler = Resampler(24_000, 8000)
    out = np.concatenate([resampler.feed(tone(6000)), resampler.flush()])
    assert np.abs(out[1000:-1000]).max() < 1e-4
