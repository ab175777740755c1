"""From the engine's sample rate to the one that was asked for, piece by piece, band-limited.

soxr's stream keeps its filter's state from piece to piece, so the pieces join without a seam, and it takes its own
delay out: the first sample out belongs to the first sample in. Its "HQ" quality holds back at most 80 ms of audio
(the filter, and blocks of up to 1,920 samples at 24 kHz; measured in `benchmarks/formats.py`), and passes up to 91 %
of the lower rate's half.
"""

from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray
from speech_protocol import SAMPLE_RATES_HZ

RATES_HZ: Final = SAMPLE_RATES_HZ
"""What `out_hz` may be."""
_QUALITY: Final = "HQ"  # 20 bits; MQ saves neither time nor delay, VHQ doubles the delay
_NOTHING: Final[NDArray[np.float32]] = np.zeros(0, dtype=np.float32)


class Resampler:
    """One request's audio from `in_hz` to `out_hz`; where they are equal it passes unchanged."""

    def __init__(self, in_hz: int, out_hz: int) -> None:
        self._stream = None if in_hz == out_hz else soxr.ResampleStream(in_hz, out_hz, 1, "float32", _QUALITY)

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """The samples (float32 [n], bounded) that come out of `samples` and of what was held back before."""
        return samples if self._stream is None else self._resample(self._stream, samples, last=False)

    def flush(self) -> NDArray[np.float32]:
        """The rest. In all, out/in times as many samples as were fed, to the nearest one. Call it once, at the end."""
        return _NOTHING if self._stream is None else self._resample(self._stream, _NOTHING, last=True)

    def _resample(
        self, stream: soxr.ResampleStream, samples: NDArray[np.float32], *, last: bool
    ) -> NDArray[np.float32]:
        return np.asarray(stream.resample_chunk(samples, last=last), dtype=np.float32)
