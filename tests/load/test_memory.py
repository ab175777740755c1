"""A level is told from a leak, whatever the noise."""

import random

import pytest

from tests.load.memory import ALLOWED_BYTES, MEBIBYTE, Level

CHANCE = random.Random(1)
NOISE = [CHANCE.gauss(0, 8 * MEBIBYTE) for _ in range(180)]


def test_noise_around_a_level_is_none() -> None:
    assert not Level.of([100 * MEBIBYTE + noise for noise in NOISE]).rises()


def test_a_warm_up_is_no_leak() -> None:
    assert not Level.of([100 * MEBIBYTE + min(second, 50) * MEBIBYTE for second in range(180)]).rises()


def test_a_leak_is_seen_through_noise() -> None:
    leak = 2.5 * ALLOWED_BYTES / 180
    assert Level.of([100 * MEBIBYTE + noise + leak * second for second, noise in enumerate(NOISE)]).rises()


def test_busy_times_are_no_leak() -> None:
    busy = [60 * MEBIBYTE if second % 40 > 20 and second > 100 else 0 for second in range(180)]
    assert not Level.of([100 * MEBIBYTE + noise + more for noise, more in zip(NOISE, busy, strict=True)]).rises()


def test_a_spike_is_no_leak() -> None:
    samples = [100 * MEBIBYTE + noise for noise in NOISE]
    samples[-5:] = [500 * MEBIBYTE] * 5
    assert not Level.of(samples).rises()


def test_too_few_samples_are_no_level() -> None:
    with pytest.raises(ValueError, match="at least 18"):
        Level.of([1.0] * 17)
