"""Boxes."""

import struct

from speech_container.mp4 import Track, audio_of, fragment, opening, whole

TRACK = Track(24_000, 1024, 1024, 32_000, bytes.fromhex("1308"))
CONTAINERS = {b"moov", b"trak", b"edts", b"mdia", b"minf", b"dinf", b"stbl", b"mvex", b"moof", b"traf"}


def _boxes(data: bytes, path: str = "") -> dict[str, bytes]:
    """Every box's body by its path; that sizes fill their parents exactly is part of it."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        assert 8 <= size <= len(data) - at
        name = f"{path}/{kind.decode()}"
        found[name] = data[at + 8 : at + size]
        if kind in CONTAINERS:
            found |= _boxes(found[name], name)
        at += size
    return found


def test_the_opening_knows_no_duration_and_takes_the_delay_out() -> None:
    boxes = _boxes(opening(TRACK))
    assert next(iter(boxes)) == "/ftyp"
    assert "/moov/mvex/trex" in boxes
    assert struct.unpack_from(">I", boxes["/moov/mvhd"], 16) == (0,)
    assert struct.unpack(">IIIiHH", boxes["/moov/trak/edts/elst"]) == (0, 1, 0, 1024, 1, 0)
    assert TRACK.configuration in boxes["/moov/trak/mdia/minf/stbl/stsd"]


def test_a_fragment_counts_from_its_own_first_byte() -> None:
    frames = [b"first", b"second one"]
    encoded = fragment(3, 2048, frames)
    boxes = _boxes(encoded)
    assert struct.unpack(">II", boxes["/moof/mfhd"]) == (0, 3)
    assert struct.unpack(">IQ", boxes["/moof/traf/tfdt"]) == (1 << 24, 2048)
    assert struct.unpack(">II", boxes["/moof/traf/tfhd"]) == (0x020000, 1)
    flags, count, offset, *sizes = struct.unpack(">IIiII", boxes["/moof/traf/trun"])
    assert (flags, count, sizes) == (0x201, 2, [5, 10])
    assert encoded[offset:] == b"".join(frames)


def test_a_last_fragment_names_its_durations() -> None:
    encoded = fragment(1, 0, [b"a", b"bc"], [1024, 77])
    flags, count, offset, *rows = struct.unpack(">IIiIIII", _boxes(encoded)["/moof/traf/trun"])
    assert (flags, count, rows) == (0x301, 2, [1024, 1, 77, 2])
    assert encoded[offset:] == b"abc"


def test_a_whole_file_adds_up() -> None:
    file = whole(TRACK, [3, 4, 5], 1500, b"aaabbbbccccc")
    boxes = _boxes(file)
    assert list(boxes)[:2] == ["/ftyp", "/moov"]
    tables = "/moov/trak/mdia/minf/stbl"
    assert struct.unpack_from(">I", boxes["/moov/mvhd"], 16) == (1500,)
    assert struct.unpack_from(">I", boxes["/moov/trak/mdia/mdhd"], 16) == (2524,)
    assert struct.unpack(">6I", boxes[f"{tables}/stts"]) == (0, 2, 2, 1024, 1, 476)
    assert struct.unpack(">6I", boxes[f"{tables}/stsz"]) == (0, 0, 3, 3, 4, 5)
    (offset,) = struct.unpack_from(">I", boxes[f"{tables}/stco"], 8)
    assert file[offset:] == b"aaabbbbccccc"


def test_the_frames_of_fragments_are_found_again() -> None:
    assert audio_of(opening(TRACK) + fragment(1, 0, [b"a", b"b"]) + fragment(2, 2048, [b"mdat"])) == b"abmdat"
