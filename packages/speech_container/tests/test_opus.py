"""Opus in Ogg."""

import struct
from typing import Any, NamedTuple

import numpy as np
import pytest
from speech_container.ogg import checksum
from speech_container.opus import CODED_RATES_HZ, OpusEncoder

PIECE_SAMPLES = 7680


class Page(NamedTuple):
    flags: int
    position: int
    number: int
    packets: int
    body: bytes


def _pages(stream: bytes) -> list[Page]:
    pages, at = [], 0
    while at < len(stream):
        capture, _, flags, position, _, number, crc, count = struct.unpack_from("<4sBBqIIIB", stream, at)
        lacing = stream[at + 27 : at + 27 + count]
        end = at + 27 + count + sum(lacing)
        assert capture == b"OggS"
        assert crc == checksum(stream[at : at + 22] + bytes(4) + stream[at + 26 : end])
        packets = sum(size < 255 for size in lacing)
        pages.append(Page(flags, position, number, packets, stream[at + 27 + count : end]))
        at = end
    return pages


def _encode(samples: Any, rate_hz: int, piece_samples: int = PIECE_SAMPLES) -> bytes:
    encoder = OpusEncoder(rate_hz, serial=1)
    pieces = [encoder.feed(samples[at : at + piece_samples]) for at in range(0, len(samples), piece_samples)]
    return b"".join(pieces) + encoder.flush()


@pytest.mark.parametrize(("asked_hz", "coded_hz"), CODED_RATES_HZ.items())
@pytest.mark.parametrize("count", [200, 959, 40_001])
def test_the_length_is_exact_to_the_sample(tone: Any, decode: Any, asked_hz: int, coded_hz: int, count: int) -> None:
    heard = decode(_encode(tone(440, samples=count), asked_hz))
    assert (heard.rate_hz, len(heard.samples)) == (48_000, count * 48_000 // coded_hz)


def test_positions_count_up_to_the_end_and_pages_are_short(tone: Any) -> None:
    head, tags, *audio = _pages(_encode(tone(440), 24_000))
    (pre_skip,) = struct.unpack_from("<H", head.body, 10)
    assert head.body.startswith(b"OpusHead\x01\x01")
    assert tags.body.startswith(b"OpusTags")
    assert [page.number for page in (head, tags, *audio)] == list(range(len(audio) + 2))
    assert [page.flags for page in (head, tags, *audio)] == [2, 0] + [0] * (len(audio) - 1) + [4]
    assert max(page.packets for page in audio) == 5
    heard = np.cumsum([page.packets * 960 for page in audio])
    assert [page.position for page in audio[:-1]] == heard[:-1].tolist()
    assert audio[-1].position == pre_skip + len(tone(440)) * 2
    assert 0 <= heard[-1] - audio[-1].position < 960


def test_every_20_ms_come_out_at_once(tone: Any) -> None:
    encoder = OpusEncoder(24_000)
    samples = tone(440)
    sizes = [len(_pages(encoder.feed(samples[at : at + 480]))) for at in range(0, 9600, 480)]
    assert sizes == [3] + [1] * 19


def test_the_header_names_the_rate_that_was_asked_for(tone: Any) -> None:
    head = _pages(_encode(tone(440), 22_050))[0]
    assert struct.unpack_from("<I", head.body, 12) == (22_050,)


def test_no_audio_is_a_stream_that_ends() -> None:
    head, tags, end = _pages(OpusEncoder(24_000).flush())
    assert (head.flags, tags.flags, end.flags, end.packets, end.position) == (2, 0, 4, 0, 0)
