"""AAC in MP4."""

import io
import struct
from typing import Any

import av
import numpy as np
import pytest
from speech_container.aac import AacEncoder
from speech_container.resampler import RATES_HZ

PIECE_SAMPLES = 7680


def _cut(stream: bytes) -> list[bytes]:
    """The opening, then each moof with its mdat."""
    parts: list[bytes] = []
    at = 0
    while at < len(stream):
        size, kind = struct.unpack_from(">I4s", stream, at)
        if kind in {b"ftyp", b"moof"}:
            parts.append(b"")
        parts[-1] += stream[at : at + size]
        at += size
    return parts


def _encode(encoder: AacEncoder, samples: Any) -> bytes:
    pieces = [encoder.feed(samples[at : at + PIECE_SAMPLES]) for at in range(0, len(samples), PIECE_SAMPLES)]
    return b"".join(pieces) + encoder.flush()


def _packets(encoded: bytes) -> list[tuple[int, int]]:
    """When each packet begins and how long it is, in samples."""
    with av.open(io.BytesIO(encoded), "r") as container:
        return [(packet.dts, packet.duration or 0) for packet in container.demux(audio=0) if packet.dts is not None]


def _heard_frames(encoded: bytes) -> int:
    with av.open(io.BytesIO(encoded), "r") as container:
        return len(list(container.decode(audio=0)))


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_every_fragment_can_be_appended_on_its_own(tone: Any, rate_hz: int) -> None:  # behaviour 18
    opening, *fragments = _cut(_encode(AacEncoder(rate_hz), tone(440)))
    assert len(fragments) > 5
    expected = -1024
    for fragment in fragments:
        packets = _packets(opening + fragment)
        assert packets[0][0] == expected
        expected += sum(duration for _, duration in packets)
        assert _heard_frames(opening + fragment) in {len(packets), len(packets) - 1}  # one less where it is the delay
    assert expected == len(tone(440))


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_fragments_last_100_ms_or_one_frame(tone: Any, rate_hz: int) -> None:
    opening, *fragments = _cut(_encode(AacEncoder(rate_hz), tone(440)))
    for fragment in fragments:
        packets = _packets(opening + fragment)
        assert len(packets) == 1 or sum(duration for _, duration in packets) <= rate_hz / 10


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_stream_loses_nothing_and_adds_less_than_a_frame(tone: Any, decode: Any, rate_hz: int) -> None:
    samples = tone(440)
    heard = decode(_encode(AacEncoder(rate_hz), samples))
    assert heard.rate_hz == rate_hz
    assert 0 <= len(heard.samples) - len(samples) < 1024
    middle = slice(len(samples) // 4, len(samples) // 2)
    assert np.corrcoef(heard.samples[: len(samples)][middle], samples[middle])[0, 1] > 0.99  # the delay is out


@pytest.mark.parametrize("rate_hz", RATES_HZ)
@pytest.mark.parametrize("count", [1, 1024, 48_001])
def test_a_file_has_its_true_length_to_the_sample(tone: Any, decode: Any, rate_hz: int, count: int) -> None:
    encoder = AacEncoder(rate_hz)
    file = encoder.as_file(_encode(encoder, tone(440, samples=count)))
    heard = decode(file)
    assert len(heard.samples) == count
    assert heard.duration_s == pytest.approx(count / rate_hz, abs=2e-6)
    assert b"moof" not in file


def test_the_opening_comes_first_and_once(tone: Any) -> None:
    encoder = AacEncoder(24_000)
    first = encoder.feed(np.zeros(1, np.float32))
    assert _cut(first) == [first]
    assert first[4:8] == b"ftyp"
    assert b"ftyp" not in encoder.feed(tone(440))


def test_no_audio_is_an_opening_alone() -> None:
    encoder = AacEncoder(24_000)
    stream = encoder.flush()
    assert len(_cut(stream)) == 1
    assert encoder.as_file(stream) == stream
