"""Samples as 16-bit numbers, and the guard that every encoder's input passes.

Samples beyond ±1.0 are clipped, never wrapped, and what is not a number is silence: neither a resampler nor a codec
sees a value that it could choke on, whatever an engine makes.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

SAMPLE_BYTES: Final = 2
_FULL_SCALE: Final = 32767


class PcmEncoder:
    """16-bit little-endian mono, no header."""

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """Two bytes a sample."""
        return pcm16(samples)

    def flush(self) -> bytes:
        """Nothing is held back."""
        return b""

    def as_file(self, encoded: bytes) -> bytes:
        """There are no sizes to correct."""
        return encoded


def bounded(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """The samples as float32 [n], contiguous, within ±1.0, without anything that is not a number."""
    flat = np.ascontiguousarray(samples, dtype=np.float32).reshape(-1)
    clipped = np.clip(flat, np.float32(-1.0), np.float32(1.0))  # infinities too; only nan passes
    clipped[np.isnan(clipped)] = 0.0
    return clipped


def pcm16(samples: NDArray[np.float32]) -> bytes:
    """float32 [n] to 16-bit little-endian; clipped as `bounded` says."""
    return np.rint(bounded(samples) * _FULL_SCALE).astype("<i2").tobytes()
