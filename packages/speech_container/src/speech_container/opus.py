"""Opus in Ogg (RFC 7845): 32 kbit/s, tuned for speech, frames of 20 ms, pages of at most 100 ms.

A decoder gives 48 kHz whatever went in, so positions count in 48 kHz. The header names what to skip at the start, and
the last page's position where the audio ends: the length is exact to the sample, in a stream as in a file.

Opus takes 8, 12, 16, 24 and 48 kHz. 22,050 Hz is encoded at 24,000; so is 48,000, because the engine's 24 kHz have
nothing above 12 kHz to encode.
"""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .codec import Codec
from .ogg import OggStream

CODEC: Final = "libopus"
BIT_RATE: Final = 32_000
CODED_RATES_HZ: Final = {8000: 8000, 16000: 16000, 22050: 24000, 24000: 24000, 48000: 24000}
"""The rate that `OpusEncoder` takes samples at, for each rate that may be asked for."""
_POSITION_HZ: Final = 48_000
_PAGE_FRAMES: Final = 5
_OPTIONS: Final = {
    "application": "voip",
    "frame_duration": "20",
    "compression_level": "3",  # with 10, the most, speech sounds the same and costs half as much again
}


class OpusEncoder:
    """`sample_rate_hz`: the rate that was asked for. Feed it at `CODED_RATES_HZ[sample_rate_hz]`."""

    def __init__(self, sample_rate_hz: int, serial: int | None = None) -> None:
        rate_hz = CODED_RATES_HZ[sample_rate_hz]
        self._codec = Codec(CODEC, rate_hz, bit_rate=BIT_RATE, sample_format="flt", options=_OPTIONS)
        self._ogg = OggStream(serial)
        self._scale = _POSITION_HZ // rate_hz
        self._sample_rate_hz = sample_rate_hz
        self._frames = 0
        self._begun = False

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The headers once, and pages of the frames that are complete: the first needs 20 ms."""
        return self._begin() + self._pages(self._codec.encode(samples), is_end=False)

    def flush(self) -> bytes:
        """The last pages; the very last ends where the audio does."""
        return self._begin() + self._pages(self._codec.finish(), is_end=True)

    def as_file(self, encoded: bytes) -> bytes:
        """The stream says its length already."""
        return encoded

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        head = bytearray(self._codec.configuration)
        struct.pack_into("<I", head, 12, self._sample_rate_hz)
        vendor = b"libopus"
        tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
        return self._ogg.page([bytes(head)], 0) + self._ogg.page([tags], 0)

    def _pages(self, frames: list[bytes], *, is_end: bool) -> bytes:
        codec = self._codec
        groups = [frames[start : start + _PAGE_FRAMES] for start in range(0, len(frames), _PAGE_FRAMES)]
        if is_end and not groups:
            groups = [[]]
        pages = []
        for index, group in enumerate(groups):
            self._frames += len(group)
            is_last = is_end and index == len(groups) - 1
            samples = codec.fed + codec.delay_samples if is_last else self._frames * codec.frame_samples
            pages.append(self._ogg.page(group, samples * self._scale if self._frames else 0, is_last=is_last))
        return b"".join(pages)
