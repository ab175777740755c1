"""Bytes from samples."""

import io
import wave

import numpy as np
import pytest
from speech_container.encoders import encoder_for, pcm16, require_supported, wav_header, with_true_sizes
from speech_container.errors import Refusal
from speech_protocol import AudioFormat

TONE = (0.5 * np.sin(np.arange(4800) / 8)).astype(np.float32)


def test_samples_beyond_full_scale_are_clipped_and_never_wrapped() -> None:  # behaviour 19
    samples = np.array([0.0, 1.0, -1.0, 1.5, -1.5, 1e9, -1e9, np.inf, -np.inf, np.nan], dtype=np.float32)
    assert np.frombuffer(pcm16(samples), "<i2").tolist() == [
        0, 32767, -32767, 32767, -32767, 32767, -32767, 32767, -32767, 0,
    ]  # fmt: skip


def test_pcm_is_little_endian_and_close_to_the_samples() -> None:
    decoded = np.frombuffer(encoder_for("pcm", 24000).feed(TONE), "<i2") / 32767
    assert np.abs(decoded - TONE).max() <= 0.5 / 32767 + 1e-6


@pytest.mark.parametrize("audio_format", ["pcm", "wav"])
def test_pieces_make_the_same_stream_as_the_whole(audio_format: AudioFormat) -> None:
    whole, pieces = encoder_for(audio_format, 24000), encoder_for(audio_format, 24000)
    in_pieces = b"".join(pieces.feed(part) for part in np.array_split(TONE, 7)) + pieces.flush()
    assert in_pieces == whole.feed(TONE) + whole.flush()


def test_a_streamed_wav_does_not_pretend_to_know_its_length() -> None:
    header = encoder_for("wav", 24000).feed(TONE)[:44]
    assert header[4:8] == header[40:44] == b"\xff\xff\xff\xff"


def test_a_whole_wav_has_true_sizes() -> None:
    streamed = encoder_for("wav", 24000).feed(TONE)
    with wave.open(io.BytesIO(with_true_sizes("wav", 24000, streamed))) as reader:
        assert (reader.getframerate(), reader.getsampwidth(), reader.getnchannels()) == (24000, 2, 1)
        assert reader.getnframes() == len(TONE)
        assert reader.readframes(len(TONE)) == pcm16(TONE)


def test_pcm_has_no_sizes_to_correct() -> None:
    assert with_true_sizes("pcm", 24000, b"ab") == b"ab"


def test_an_empty_wav_still_has_its_header() -> None:
    assert encoder_for("wav", 24000).flush() == wav_header(24000, None)


@pytest.mark.parametrize(
    ("audio_format", "rate", "code"),
    [
        ("mp3", 24000, "format_unsupported"),
        ("opus", 24000, "format_unsupported"),
        ("pcm", 8000, "sample_rate_unsupported"),
    ],
)
def test_what_cannot_be_made_is_refused(audio_format: AudioFormat, rate: int, code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        require_supported(audio_format, rate)
    assert refusal.value.code == code
