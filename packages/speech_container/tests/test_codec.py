"""FFmpeg's encoders."""

from typing import Any

import numpy as np
import pytest
from speech_container.codec import Codec, is_installed
from speech_container.errors import CodecFailed

CODECS = [("libmp3lame", "fltp", 48_000), ("aac", "fltp", 32_000), ("libopus", "flt", 32_000)]


def _codec(name: str, sample_format: str, bit_rate: int, rate_hz: int = 24_000) -> Codec:
    return Codec(name, rate_hz, bit_rate=bit_rate, sample_format=sample_format, options={})


@pytest.mark.parametrize(("name", "sample_format", "bit_rate"), CODECS)
def test_pieces_of_any_size_make_the_same_frames(tone: Any, name: str, sample_format: str, bit_rate: int) -> None:
    samples = np.tile(tone(440), 2)
    whole, pieces = _codec(name, sample_format, bit_rate), _codec(name, sample_format, bit_rate)
    cuts = np.cumsum([0, 1, 1, 7680, 5, 20_000, 333])
    in_pieces = [frame for part in np.split(samples, cuts) for frame in pieces.encode(part)] + pieces.finish()
    assert whole.encode(samples) + whole.finish() == in_pieces
    assert len(in_pieces) == whole.total_frames


@pytest.mark.parametrize(("name", "sample_format", "bit_rate"), CODECS)
@pytest.mark.parametrize("count", [1, 575, 576, 577, 1023, 1025, 5000])
def test_there_are_just_as_many_frames_as_the_audio_needs(
    name: str, sample_format: str, bit_rate: int, count: int
) -> None:
    codec = _codec(name, sample_format, bit_rate)
    frames = codec.encode(np.zeros(count, np.float32)) + codec.finish()
    held = len(frames) * codec.frame_samples - codec.delay_samples
    assert count <= held < count + codec.frame_samples


@pytest.mark.parametrize(("name", "sample_format", "bit_rate"), CODECS)
def test_nothing_in_is_nothing_out(name: str, sample_format: str, bit_rate: int) -> None:
    assert _codec(name, sample_format, bit_rate).finish() == []


def test_what_ffmpeg_does_not_take_is_one_of_our_errors() -> None:
    with pytest.raises(CodecFailed, match="libopus does not take 22050 Hz"):
        _codec("libopus", "flt", 32_000, 22_050)


def test_an_encoder_that_is_not_there_is_known() -> None:
    assert is_installed("libmp3lame")
    assert not is_installed("mp3_of_tomorrow")
