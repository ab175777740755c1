"""Pages of Ogg."""

import struct

import pytest
from speech_container.ogg import OggStream, checksum


def test_the_checksum_is_the_one_of_the_catalogues() -> None:
    assert checksum(b"123456789") == 0x765E7680 ^ 0xFFFFFFFF  # CRC-32/CKSUM, which differs by the last inversion only


def test_a_page_carries_its_packets_and_its_place() -> None:
    stream = OggStream(serial=7)
    first = stream.page([b"head"], 0)
    second = stream.page([b"x" * 255, b"y" * 600], 960, is_last=True)
    assert struct.unpack_from("<4sBBqII", first) == (b"OggS", 0, 2, 0, 7, 0)
    assert struct.unpack_from("<4sBBqII", second) == (b"OggS", 0, 4, 960, 7, 1)
    assert list(second[26:32]) == [5, 255, 0, 255, 255, 90]
    assert second[32:] == b"x" * 255 + b"y" * 600


def test_a_page_is_checked_with_its_own_field_at_zero() -> None:
    page = OggStream(serial=7).page([b"head"], 0)
    assert struct.unpack_from("<I", page, 22) == (checksum(page[:22] + bytes(4) + page[26:]),)


def test_streams_tell_themselves_apart() -> None:
    assert OggStream().page([b"a"], 0) != OggStream().page([b"a"], 0)


def test_too_much_for_a_page_is_refused() -> None:
    with pytest.raises(ValueError, match="255 segments"):
        OggStream().page([b"a"] * 256, 0)
