"""From samples to bytes: incremental encoders, one a request, fed as audio is made and flushed at its end.

Samples beyond ±1.0 are clipped, never wrapped. A streamed WAV cannot know its length, so its header says 0xFFFFFFFF,
which players take for "until the stream ends"; a WAV that is sent whole has true sizes.
"""

import struct
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from speech_protocol import AudioFormat, ErrorCode

from .engine import SAMPLE_RATE_HZ
from .errors import Refusal

FORMATS: Final[tuple[AudioFormat, ...]] = ("pcm", "wav")
SAMPLE_RATES_HZ: Final = (SAMPLE_RATE_HZ,)
CONTENT_TYPES: Final = {"pcm": "audio/pcm", "wav": "audio/wav"}
SAMPLE_BYTES: Final = 2
WAV_HEADER_BYTES: Final = 44
_UNKNOWN_SIZE: Final = 0xFFFFFFFF
_FULL_SCALE: Final = 32767


class Encoder(Protocol):
    """Samples in, bytes of one continuous stream out."""

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The bytes that `samples` (float32 [n], ±1.0) complete."""

    def flush(self) -> bytes:
        """The rest, at the end of the request."""


class PcmEncoder:
    """16-bit little-endian mono, no header."""

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """Two bytes a sample."""
        return pcm16(samples)

    def flush(self) -> bytes:
        """Nothing is held back."""
        return b""


class WavEncoder:
    """A streamed WAV: a header without sizes, then pcm."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._header = wav_header(sample_rate_hz, None)

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The header once, and two bytes a sample."""
        header, self._header = self._header, b""
        return header + pcm16(samples)

    def flush(self) -> bytes:
        """The header, should nothing have been fed."""
        header, self._header = self._header, b""
        return header


def require_supported(audio_format: AudioFormat, sample_rate_hz: int) -> None:
    """Raises `Refusal` for what the contract names and this server cannot make yet."""
    if audio_format not in FORMATS:
        formats = " and ".join(FORMATS)
        raise Refusal(ErrorCode.FORMAT_UNSUPPORTED, f"this server makes {formats}; {audio_format} was asked for")
    if sample_rate_hz not in SAMPLE_RATES_HZ:
        raise Refusal(
            ErrorCode.SAMPLE_RATE_UNSUPPORTED,
            f"this server makes audio at {SAMPLE_RATE_HZ} Hz; {sample_rate_hz} Hz was asked for",
        )


def encoder_for(audio_format: AudioFormat, sample_rate_hz: int) -> Encoder:
    """A fresh encoder for a stream. Raises `Refusal` as `require_supported` does."""
    require_supported(audio_format, sample_rate_hz)
    return WavEncoder(sample_rate_hz) if audio_format == "wav" else PcmEncoder()


def with_true_sizes(audio_format: AudioFormat, sample_rate_hz: int, encoded: bytes) -> bytes:
    """A whole stream as a file: for wav, with its sizes in the header."""
    if audio_format != "wav":
        return encoded
    data = encoded[WAV_HEADER_BYTES:]
    return wav_header(sample_rate_hz, len(data)) + data


def pcm16(samples: NDArray[np.float32]) -> bytes:
    """float32 [n] to 16-bit little-endian; what lies beyond ±1.0 is clipped, and what is not a number is silence."""
    clipped = np.clip(np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    return np.rint(clipped * _FULL_SCALE).astype("<i2").tobytes()


def wav_header(sample_rate_hz: int, data_bytes: int | None) -> bytes:
    """The 44 bytes of a canonical 16-bit mono WAV header; `data_bytes` None where the length is not known."""
    riff_size = _UNKNOWN_SIZE if data_bytes is None else data_bytes + WAV_HEADER_BYTES - 8
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
