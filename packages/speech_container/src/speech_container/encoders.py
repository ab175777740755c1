"""From samples to bytes: incremental encoders, one a request, fed as audio is made and flushed at its end.

What a segment ends with and the next begins with passes one resampler and one codec, so there is no seam to hear. The
formats whose libraries are not installed are not offered.
"""

import logging
from functools import cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from speech_protocol import AudioFormat, ErrorCode

from .engine import SAMPLE_RATE_HZ
from .errors import Refusal
from .pcm import PcmEncoder, bounded
from .wav import WavEncoder

logger = logging.getLogger(__name__)

CONTENT_TYPES: Final[dict[AudioFormat, str]] = {
    "pcm": "audio/pcm",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/mp4",
}


class Encoder(Protocol):
    """Samples in, bytes of one continuous stream out."""

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The bytes that `samples` (float32 [n], ±1.0) complete."""

    def flush(self) -> bytes:
        """The rest, at the end of the request."""

    def as_file(self, encoded: bytes) -> bytes:
        """All that was given out, after the flush, as a file that says how long it is."""


class Stream:
    """The engine's audio, resampled and encoded. Not for two threads at once."""

    def __init__(self, encoder: Encoder, sample_rate_hz: int, *, is_quick: bool) -> None:
        self.is_quick = is_quick and sample_rate_hz == SAMPLE_RATE_HZ
        """Whether a whole segment may be encoded where other things wait: half a millisecond a second of audio."""
        self._encoder = encoder
        self._resampler = None
        if sample_rate_hz != SAMPLE_RATE_HZ:
            from .resampler import Resampler  # here: an installation without soxr keeps the engine's rate

            self._resampler = Resampler(SAMPLE_RATE_HZ, sample_rate_hz)
        self._ended = False

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """See `Encoder.feed`. `samples` are at the engine's rate."""
        if self._ended:
            raise ValueError("this stream was flushed; the next request needs an encoder of its own")
        if self._resampler is not None:
            samples = self._resampler.feed(bounded(samples))
        return self._encoder.feed(samples)

    def flush(self) -> bytes:
        """See `Encoder.flush`. Nothing comes out of a second one."""
        if self._ended:
            return b""
        self._ended = True
        tail = b"" if self._resampler is None else self._encoder.feed(self._resampler.flush())
        return tail + self._encoder.flush()

    def as_file(self, encoded: bytes) -> bytes:
        """See `Encoder.as_file`."""
        return self._encoder.as_file(encoded)


@cache
def offered_formats() -> tuple[AudioFormat, ...]:
    """What this installation can make. The first call loads FFmpeg's libraries: 0.1 to 0.3 s."""
    try:
        from . import aac, codec, mp3, opus
    except ImportError:
        logger.warning("PyAV is not installed, or does not load: there is no mp3, opus or aac")
        return ("pcm", "wav")
    coded: dict[AudioFormat, str] = {"mp3": mp3.CODEC, "opus": opus.CODEC, "aac": aac.CODEC}
    return ("pcm", "wav", *(audio_format for audio_format, name in coded.items() if codec.is_installed(name)))


@cache
def offered_rates_hz() -> tuple[int, ...]:
    """The sample rates that this installation can make, in Hz; every one in every format."""
    try:
        from . import resampler
    except ImportError:
        logger.warning("soxr is not installed, or does not load: there is only %d Hz", SAMPLE_RATE_HZ)
        return (SAMPLE_RATE_HZ,)
    return resampler.RATES_HZ


def require_supported(audio_format: AudioFormat, sample_rate_hz: int) -> None:
    """Raises `Refusal` for what this server cannot make."""
    if audio_format not in offered_formats():
        formats = ", ".join(offered_formats())
        raise Refusal(ErrorCode.FORMAT_UNSUPPORTED, f"this server makes {formats}; {audio_format} was asked for")
    if sample_rate_hz not in offered_rates_hz():
        rates = ", ".join(map(str, offered_rates_hz()))
        raise Refusal(
            ErrorCode.SAMPLE_RATE_UNSUPPORTED,
            f"this server makes audio at {rates} Hz; {sample_rate_hz} Hz was asked for",
        )


def encoder_for(audio_format: AudioFormat, sample_rate_hz: int) -> Stream:
    """A fresh encoder for a stream. Raises `Refusal` as `require_supported` does."""
    require_supported(audio_format, sample_rate_hz)
    match audio_format:
        case "pcm":
            return Stream(PcmEncoder(), sample_rate_hz, is_quick=True)
        case "wav":
            return Stream(WavEncoder(sample_rate_hz), sample_rate_hz, is_quick=True)
        case "mp3":
            from .mp3 import Mp3Encoder

            return Stream(Mp3Encoder(sample_rate_hz), sample_rate_hz, is_quick=False)
        case "opus":
            from .opus import CODED_RATES_HZ, OpusEncoder

            return Stream(OpusEncoder(sample_rate_hz), CODED_RATES_HZ[sample_rate_hz], is_quick=False)
        case "aac":
            from .aac import AacEncoder

            return Stream(AacEncoder(sample_rate_hz), sample_rate_hz, is_quick=False)
