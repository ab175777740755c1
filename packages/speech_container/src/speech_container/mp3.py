"""MP3: constant 48 kbit/s, mono, every frame decodable without the one before.

The bit reservoir is off: with it a frame may need bytes of earlier ones, and the encoder holds one frame more back.
The sound of speech at this rate was the same (signal to noise 16.6 against 16.0 dB at 24 kHz). LAME lowers the level
by 0.45 dB, so that what it adds does not clip.

A decoder gives `Codec.delay_samples` = 1,105 samples before the first one that was fed (576 of the encoder's, 529 of
the decoder's), and fills the last frame up. Only a LAME header can say so, and to most readers a LAME header without
a length is none. So a stream, whose length nobody knows yet, has no header and begins with 1,105 samples of silence
(46 ms at 24 kHz, 138 ms at 8 kHz); a file has the header, with its true length, and players cut both ends to the
sample.
"""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .codec import Codec

CODEC: Final = "libmp3lame"
BIT_RATE: Final = 48_000
_DECODER_DELAY_SAMPLES: Final = 529
_MPEG_1_FRAME_SAMPLES: Final = 1152  # at 32 kHz and above; MPEG-2 and 2.5 have 576
_HAS_FRAMES_AND_BYTES: Final = 3
_CONSTANT_BIT_RATE: Final = 1


class Mp3Encoder:
    """`sample_rate_hz`: 8000, 16000, 22050, 24000 or 48000."""

    def __init__(self, sample_rate_hz: int) -> None:
        options = {"reservoir": "0"}
        self._codec = Codec(CODEC, sample_rate_hz, bit_rate=BIT_RATE, sample_format="fltp", options=options)

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """Whole frames. The first one needs 1,152 samples, 2,304 at 48 kHz."""
        return b"".join(self._codec.encode(samples))

    def flush(self) -> bytes:
        """The frames that hold the rest."""
        return b"".join(self._codec.finish())

    def as_file(self, encoded: bytes) -> bytes:
        """The same frames behind a LAME header with the true length, delay and padding."""
        if not encoded:
            return encoded
        codec = self._codec
        return info_frame(encoded, codec.sample_rate_hz, codec.frame_samples, codec.fed, codec.delay_samples) + encoded


def info_frame(frames: bytes, sample_rate_hz: int, frame_samples: int, audio_samples: int, delay_samples: int) -> bytes:
    """The frame of silence that describes the `frames` after it: Xing's fields, then LAME's (named "Info" for CBR).

    `audio_samples`: what was encoded; `delay_samples`: encoder's and decoder's delay together.
    """
    is_mpeg_1 = frame_samples == _MPEG_1_FRAME_SAMPLES
    size = frame_samples // 8 * BIT_RATE // sample_rate_hz
    header = frames[:2] + bytes([frames[2] & ~2]) + frames[3:4]  # this frame's size is without the padding byte
    side_information = bytes(17 if is_mpeg_1 else 9)
    count = -(-(audio_samples + delay_samples) // frame_samples)
    delay = delay_samples - _DECODER_DELAY_SAMPLES
    padding = count * frame_samples - audio_samples - delay
    file_bytes = size + len(frames)
    tag = header + side_information
    tag += struct.pack(">4sIII", b"Info", _HAS_FRAMES_AND_BYTES, count, file_bytes)
    tag += struct.pack(">9sB", b"LAME3.100", _CONSTANT_BIT_RATE)
    tag += bytes(10)  # low-pass, peak, gains, psychoacoustic flags: not told
    tag += struct.pack(">I", BIT_RATE // 1000 << 24 | delay << 12 | padding)
    tag += struct.pack(">4xIH", file_bytes, 0)  # no checksum of the audio
    tag += struct.pack(">H", crc16(tag))
    return tag.ljust(size, b"\0")


def crc16(data: bytes) -> int:
    """The checksum of LAME's header: polynomial 0x8005, bits reversed, from 0."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc
