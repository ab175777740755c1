"""WAV: pcm behind a header of 44 bytes.

A streamed WAV cannot know its length, so its header says 0xFFFFFFFF, which players take for "until the stream ends"; a
WAV that is sent whole has true sizes.
"""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .pcm import SAMPLE_BYTES, pcm16

HEADER_BYTES: Final = 44
_UNKNOWN_SIZE: Final = 0xFFFFFFFF


class WavEncoder:
    """A streamed WAV: a header without sizes, then pcm."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._sample_rate_hz = sample_rate_hz
        self._header = wav_header(sample_rate_hz, None)

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The header once, and two bytes a sample."""
        header, self._header = self._header, b""
        return header + pcm16(samples)

    def flush(self) -> bytes:
        """The header, should nothing have been fed."""
        header, self._header = self._header, b""
        return header

    def as_file(self, encoded: bytes) -> bytes:
        """The same audio with its sizes in the header."""
        data = encoded[HEADER_BYTES:]
        return wav_header(self._sample_rate_hz, len(data)) + data


def wav_header(sample_rate_hz: int, data_bytes: int | None) -> bytes:
    """The 44 bytes of a canonical 16-bit mono WAV header; `data_bytes` None where the length is not known."""
    riff_size = _UNKNOWN_SIZE if data_bytes is None else data_bytes + HEADER_BYTES - 8
    data_size = _UNKNOWN_SIZE if data_bytes is None else data_bytes
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        riff_size,
        b"WAVE",
        b"fmt ",
        16,
        1,
        1,
        sample_rate_hz,
        sample_rate_hz * SAMPLE_BYTES,
        SAMPLE_BYTES,
        8 * SAMPLE_BYTES,
        b"data",
        data_size,
    )
