"""MP3 frames and the header of a whole file."""

import struct
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from speech_container.mp3 import Mp3Encoder, crc16
from speech_container.resampler import RATES_HZ

DELAY_SAMPLES = 1105


def _frames(encoded: bytes) -> list[NDArray[Any]]:
    """What a decoder gives for the beginning of a stream, frame by frame."""
    decoder = av.CodecContext.create("mp3", "r")
    assert isinstance(decoder, av.AudioCodecContext)
    packets = [*decoder.parse(encoded), *decoder.parse(None)]
    whole = [packet for packet in packets if packet.size >= 144]  # the parser hands on the rest at the cut as it is
    return [frame.to_ndarray() for packet in whole for frame in decoder.decode(packet)]


def test_any_prefix_of_a_stream_decodes(tone: Any) -> None:  # behaviour 18
    encoder = Mp3Encoder(24_000)
    stream = encoder.feed(tone(440, samples=24_000)) + encoder.flush()
    all_frames = _frames(stream)
    assert len(all_frames) == len(stream) // 144
    for size in range(144, len(stream), 97):
        frames = _frames(stream[:size])
        assert len(frames) == size // 144
        assert all(np.array_equal(frame, whole) for frame, whole in zip(frames, all_frames, strict=False))


def test_every_frame_is_complete_without_the_one_before(tone: Any) -> None:
    encoder = Mp3Encoder(24_000)
    stream = encoder.feed(tone(440)) + encoder.flush()
    main_data_begin = [stream[at + 4] for at in range(0, len(stream), 144)]
    assert set(main_data_begin) == {0}


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_stream_has_no_header_and_begins_with_the_codecs_delay(tone: Any, decode: Any, rate_hz: int) -> None:
    encoder = Mp3Encoder(rate_hz)
    samples = tone(440)
    stream = encoder.feed(samples) + encoder.flush()
    assert b"Info" not in stream
    assert b"Xing" not in stream
    heard = decode(stream)
    frame_samples = 1152 if rate_hz == 48_000 else 576
    assert heard.rate_hz == rate_hz
    assert 0 <= len(heard.samples) - len(samples) - DELAY_SAMPLES < frame_samples


@pytest.mark.parametrize("rate_hz", RATES_HZ)
@pytest.mark.parametrize("count", [100, 470, 48_001])
def test_a_file_has_its_true_length_to_the_sample(tone: Any, decode: Any, rate_hz: int, count: int) -> None:
    encoder = Mp3Encoder(rate_hz)
    stream = encoder.feed(tone(440, samples=count)) + encoder.flush()
    file = encoder.as_file(stream)
    heard = decode(file)
    assert len(heard.samples) == count
    assert heard.duration_s == pytest.approx(count / rate_hz, abs=1e-4)
    at = file.index(b"Info")
    frames, size = struct.unpack_from(">II", file, at + 8)
    assert size == len(file)
    assert file.endswith(stream)
    assert frames * (1152 if rate_hz == 48_000 else 576) >= count + DELAY_SAMPLES


def test_the_headers_checksum_is_crc_16_arc() -> None:
    assert crc16(b"123456789") == 0xBB3D  # the check value in catalogues of CRCs


def test_the_checksum_covers_the_header(tone: Any) -> None:
    encoder = Mp3Encoder(24_000)
    file = encoder.as_file(encoder.feed(tone(440)) + encoder.flush())
    end = file.index(b"LAME3.100") + 34
    assert struct.unpack_from(">H", file, end) == (crc16(file[:end]),)


def test_no_audio_is_an_empty_file() -> None:
    encoder = Mp3Encoder(24_000)
    assert encoder.as_file(encoder.flush()) == b""
