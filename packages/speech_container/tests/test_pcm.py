"""Samples as numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from speech_container.pcm import PcmEncoder, bounded, pcm16

TONE = (0.5 * np.sin(np.arange(4800) / 8)).astype(np.float32)


def test_samples_beyond_full_scale_are_clipped_and_never_wrapped() -> None:  # behaviour 19
    samples = np.array([0.0, 1.0, -1.0, 1.5, -1.5, 1e9, -1e9, np.inf, -np.inf, np.nan], dtype=np.float32)
    assert np.frombuffer(pcm16(samples), "<i2").tolist() == [
        0, 32767, -32767, 32767, -32767, 32767, -32767, 32767, -32767, 0,
    ]  # fmt: skip


def test_pcm_is_little_endian_and_close_to_the_samples() -> None:
    decoded = np.frombuffer(PcmEncoder().feed(TONE), "<i2") / 32767
    assert np.abs(decoded - TONE).max() <= 0.5 / 32767 + 1e-6


@given(arrays.arrays(np.float32, st.integers(0, 50), elements=st.floats(width=32)))
def test_whatever_an_engine_makes_is_bounded(samples: NDArray[np.float32]) -> None:
    guarded = bounded(samples)
    assert guarded.shape == samples.shape
    assert np.all(np.abs(guarded) <= 1)
    is_good = np.abs(samples) <= 1
    assert np.array_equal(guarded[is_good], samples[is_good])


def test_the_engines_own_samples_are_left_alone() -> None:
    samples = np.array([2.0, np.nan], dtype=np.float32)
    bounded(samples)
    assert samples[0] == 2.0
    assert np.isnan(samples[1])


@pytest.mark.parametrize("samples", [np.zeros((3, 4), np.float64), np.zeros(24, np.float32)[::2], np.float32(0)])
def test_other_shapes_and_types_become_one_row(samples: NDArray[np.float32]) -> None:
    guarded = bounded(samples)
    assert (guarded.ndim, guarded.dtype.name, guarded.flags.c_contiguous) == (1, "float32", True)
