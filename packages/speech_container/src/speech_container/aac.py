"""AAC-LC in MP4: 32 kbit/s, mono; a stream in fragments of at most about 100 ms, a file with its tables in front.

The encoder's delay is one frame of 1,024 samples (43 ms at 24 kHz, 128 at 8 kHz), which the edit list takes out
again; the last frame's duration ends where the audio does. A fragment is written as soon as its frames exist.

Of FFmpeg's two quantisers the "fast" one is used: for speech at this rate it has 5 dB less noise below 4 kHz and 3 to
5 dB less up to 8 kHz than "twoloop", a steadier tone, half the cost, and 1.4 dB less of what is above 8 kHz (24 kHz,
measured).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .codec import Codec
from .mp4 import Track, audio_of, fragment, opening, whole

CODEC: Final = "aac"
BIT_RATE: Final = 32_000
FRAGMENT_S: Final = 0.1
_OPTIONS: Final = {"aac_coder": "fast"}


class AacEncoder:
    """`sample_rate_hz`: 8000, 16000, 22050, 24000 or 48000."""

    def __init__(self, sample_rate_hz: int) -> None:
        codec = Codec(CODEC, sample_rate_hz, bit_rate=BIT_RATE, sample_format="fltp", options=_OPTIONS)
        self._codec = codec
        self._track = Track(sample_rate_hz, codec.frame_samples, codec.delay_samples, BIT_RATE, codec.configuration)
        self._fragment_frames = max(1, int(FRAGMENT_S * sample_rate_hz / codec.frame_samples))
        self._fragments = 0
        self._sizes: list[int] = []
        self._begun = False

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The opening once, and fragments of the frames that are complete: the first needs 2,048 samples."""
        return self._begin() + self._write(self._codec.encode(samples), is_end=False)

    def flush(self) -> bytes:
        """The last fragments; the last frame ends where the audio does."""
        return self._begin() + self._write(self._codec.finish(), is_end=True)

    def as_file(self, encoded: bytes) -> bytes:
        """The same frames as one MP4 that knows its length."""
        if not self._sizes:
            return encoded
        return whole(self._track, self._sizes, self._codec.fed, audio_of(encoded))

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        return opening(self._track)

    def _write(self, frames: list[bytes], *, is_end: bool) -> bytes:
        track = self._track
        fragments = []
        for first in range(0, len(frames), self._fragment_frames):
            group = frames[first : first + self._fragment_frames]
            start_samples = len(self._sizes) * track.frame_samples
            self._fragments += 1
            self._sizes += map(len, group)
            durations = None
            if is_end and first + len(group) == len(frames):
                last = self._codec.fed + track.delay_samples - (len(self._sizes) - 1) * track.frame_samples
                durations = [track.frame_samples] * (len(group) - 1) + [last]
            fragments.append(fragment(self._fragments, start_samples, group, durations))
        return b"".join(fragments)
