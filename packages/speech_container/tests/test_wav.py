"""WAV, streamed and whole."""

import io
import wave

import numpy as np
from speech_container.pcm import pcm16
from speech_container.wav import WavEncoder, wav_header

TONE = (0.5 * np.sin(np.arange(4800) / 8)).astype(np.float32)


def test_a_streamed_wav_does_not_pretend_to_know_its_length() -> None:
    header = WavEncoder(24000).feed(TONE)[:44]
    assert header[4:8] == header[40:44] == b"\xff\xff\xff\xff"


def test_a_whole_wav_has_true_sizes() -> None:  # behaviour 17
    encoder = WavEncoder(22050)
    with wave.open(io.BytesIO(encoder.as_file(encoder.feed(TONE) + encoder.flush()))) as reader:
        assert (reader.getframerate(), reader.getsampwidth(), reader.getnchannels()) == (22050, 2, 1)
        assert reader.getnframes() == len(TONE)
        assert reader.readframes(len(TONE)) == pcm16(TONE)


def test_an_empty_wav_still_has_its_header() -> None:
    assert WavEncoder(24000).flush() == wav_header(24000, None)
