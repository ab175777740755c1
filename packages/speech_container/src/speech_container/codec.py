"""The codecs themselves, from FFmpeg's libraries by way of PyAV: samples in, whole frames out.

PyAV is asked for frames only. The containers around them are written here (`mp3`, `ogg`, `mp4`), because FFmpeg's own
writers hold audio back: a page of Ogg until the next page is full, a fragment of MP4 until the frame after it.

lameenc was measured beside PyAV for MP3, with speech at 24 kHz and 48 kbit/s: it is the same LAME, with the same sound
and cost; it takes 16-bit samples, and gives bytes that end inside a frame. Its wheel has 0.3 MB and PyAV's 35 MB, but
Opus and AAC need PyAV anyway. `benchmarks/formats.py` measures delay, cost and size of what is used.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.codec.codec import UnknownCodecError
from av.error import FFmpegError
from numpy.typing import NDArray

from .errors import CodecFailed
from .pcm import bounded

_MAX_FEED_SAMPLES: Final = 1 << 16  # what is handed to FFmpeg at once, so that its queue stays short


def is_installed(name: str) -> bool:
    """Whether FFmpeg's libraries have the encoder `name`."""
    try:
        av.Codec(name, "w")
    except UnknownCodecError:
        return False
    return True


class Codec:
    """One mono stream through FFmpeg's encoder `name`.

    `sample_format`: the float format that it takes; `bit_rate`: in bit/s; `options`: FFmpeg's, by its names. All
    methods raise `CodecFailed` where FFmpeg does not do what it should.
    """

    def __init__(
        self, name: str, sample_rate_hz: int, *, bit_rate: int, sample_format: str, options: Mapping[str, str]
    ) -> None:
        context = av.CodecContext.create(name, "w")
        if not isinstance(context, AudioCodecContext):
            raise TypeError(f"{name} is no audio encoder")
        context.sample_rate = sample_rate_hz
        context.layout = "mono"
        context.format = sample_format
        context.bit_rate = bit_rate
        context.time_base = Fraction(1, sample_rate_hz)
        context.options = dict(options)
        try:
            context.open()
        except FFmpegError as error:
            raise CodecFailed(f"{name} does not take {sample_rate_hz} Hz at {bit_rate} bit/s") from error
        self._context = context
        self._sample_format = sample_format
        self._made = 0
        self.sample_rate_hz = sample_rate_hz
        self.fed = 0
        """Samples so far."""
        self.frame_samples = context.frame_size
        """Samples in each frame."""
        self.delay_samples: int = context.initial_padding
        """Samples that a decoder gives before the first one that was fed."""
        self.configuration = bytes(context.extradata or b"")
        """What a decoder must know beforehand: OpusHead, or AAC's AudioSpecificConfig."""

    @property
    def total_frames(self) -> int:
        """The fewest frames that hold everything that was fed, behind the delay."""
        return -(-(self.fed + self.delay_samples) // self.frame_samples) if self.fed else 0

    def encode(self, samples: NDArray[np.float32]) -> list[bytes]:
        """The frames that `samples` (float32 [n]) complete."""
        samples = bounded(samples)
        frames: list[bytes] = []
        for start in range(0, len(samples), _MAX_FEED_SAMPLES):
            part = samples[start : start + _MAX_FEED_SAMPLES]
            frame = av.AudioFrame.from_ndarray(part[np.newaxis], self._sample_format, "mono")
            frame.sample_rate = self.sample_rate_hz
            frame.time_base = Fraction(1, self.sample_rate_hz)
            frame.pts = self.fed
            self.fed += len(part)
            frames += self._encode(frame)
        self._made += len(frames)
        return frames

    def finish(self) -> list[bytes]:
        """The remaining frames, without those that an encoder adds behind the end. Call it once."""
        rest = self._encode(None) if self.fed else []
        return rest[: self.total_frames - self._made]

    def _encode(self, frame: av.AudioFrame | None) -> list[bytes]:
        try:
            return list(map(bytes, self._context.encode(frame)))
        except FFmpegError as error:
            raise CodecFailed(f"{self._context.name} failed after {self.fed} samples") from error
