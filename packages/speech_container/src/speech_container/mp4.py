"""The boxes of an MP4 with one mono AAC track (ISO/IEC 14496-12 and -14): whole, or an opening and fragments.

Every fragment (moof and mdat) stands on its own behind the opening: it counts from its own first byte and names its
own time. The edit list says how many samples of encoder delay come before the audio.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_TRACK: Final = 1
_UNITY: Final = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)  # the matrix that changes nothing
_UNDETERMINED: Final = 0x55C4  # the language "und"
_ENABLED_IN_MOVIE: Final = 7
_SAME_FILE: Final = 1
_EVERY_SAMPLE_STANDS_ALONE: Final = 0x02000000
_OFFSETS_FROM_MOOF: Final = 0x020000
_HAS_OFFSET: Final = 0x001
_HAS_DURATIONS: Final = 0x100
_HAS_SIZES: Final = 0x200


@dataclass(frozen=True, slots=True)
class Track:
    """What all boxes agree on. `configuration`: AudioSpecificConfig; `frame_samples`: of every frame but the last."""

    sample_rate_hz: int
    frame_samples: int
    delay_samples: int
    bit_rate: int
    configuration: bytes


def opening(track: Track) -> bytes:
    """What goes before the fragments. It names no duration: nobody knows it yet."""
    trex = _full_box(b"trex", 0, 0, struct.pack(">5I", _TRACK, 1, track.frame_samples, 0, _EVERY_SAMPLE_STANDS_ALONE))
    tables = _tables(struct.pack(">I", 0), struct.pack(">I", 0), struct.pack(">II", 0, 0), struct.pack(">I", 0))
    return _box(b"ftyp", b"iso5", struct.pack(">I", 512), b"iso5iso6mp41") + _moov(
        track, tables, audio_samples=0, media_samples=0, extra=_box(b"mvex", trex)
    )


def fragment(number: int, start_samples: int, frames: Sequence[bytes], durations: Sequence[int] | None = None) -> bytes:
    """A moof and its mdat. `number` counts from 1; `start_samples`: of the frames before; `durations` in samples."""
    columns = [[len(frame) for frame in frames]] if durations is None else [durations, [len(frame) for frame in frames]]
    rows = b"".join(struct.pack(f">{len(columns)}I", *row) for row in zip(*columns, strict=True))
    flags = _HAS_OFFSET | _HAS_SIZES | (0 if durations is None else _HAS_DURATIONS)
    tfhd = _full_box(b"tfhd", 0, _OFFSETS_FROM_MOOF, struct.pack(">I", _TRACK))
    tfdt = _full_box(b"tfdt", 1, 0, struct.pack(">Q", start_samples))
    mfhd = _full_box(b"mfhd", 0, 0, struct.pack(">I", number))
    trun_bytes = 20 + len(rows)
    offset = 8 + len(mfhd) + 8 + len(tfhd) + len(tfdt) + trun_bytes + 8
    trun = _full_box(b"trun", 0, flags, struct.pack(">Ii", len(frames), offset), rows)
    return _box(b"moof", mfhd, _box(b"traf", tfhd, tfdt, trun)) + _box(b"mdat", *frames)


def whole(track: Track, sizes: Sequence[int], audio_samples: int, data: bytes) -> bytes:
    """A file that knows its length, its tables before its audio. `sizes`: of the frames that `data` holds, in bytes."""
    count, media_samples = len(sizes), audio_samples + track.delay_samples
    runs = [(count - 1, track.frame_samples), (1, media_samples - (count - 1) * track.frame_samples)]
    runs = [run for run in runs if run[0]]
    times = struct.pack(">I", len(runs)) + b"".join(struct.pack(">II", *run) for run in runs)
    chunks = struct.pack(">IIII", 1, 1, count, 1)
    lengths = struct.pack(f">II{count}I", 0, count, *sizes)
    kind = _box(b"ftyp", b"M4A ", struct.pack(">I", 512), b"M4A isommp42")

    def moov(offset: int) -> bytes:
        tables = _tables(times, chunks, lengths, struct.pack(">II", 1, offset))
        return _moov(track, tables, audio_samples, media_samples)

    return kind + moov(len(kind) + len(moov(0)) + 8) + _box(b"mdat", data)


def audio_of(encoded: bytes) -> bytes:
    """The frames in an opening and its fragments, end to end."""
    parts, start = [], 0
    while start < len(encoded):
        size, kind = struct.unpack_from(">I4s", encoded, start)
        if kind == b"mdat":
            parts.append(encoded[start + 8 : start + size])
        start += size
    return b"".join(parts)


def _box(kind: bytes, *parts: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, parts)), kind) + b"".join(parts)


def _full_box(kind: bytes, version: int, flags: int, *parts: bytes) -> bytes:
    return _box(kind, struct.pack(">I", version << 24 | flags), *parts)


def _moov(track: Track, tables: bytes, audio_samples: int, media_samples: int, extra: bytes = b"") -> bytes:
    """`audio_samples`: what is heard; `media_samples`: with the delay. Both are 0 where they are not known."""
    rate_hz = track.sample_rate_hz
    mvhd = struct.pack(">4IIH10x", 0, 0, rate_hz, audio_samples, 0x10000, 0x100) + _UNITY + bytes(24)
    mvhd += struct.pack(">I", _TRACK + 1)
    tkhd = struct.pack(">5I8xHHHH", 0, 0, _TRACK, 0, audio_samples, 0, 0, 0x100, 0) + _UNITY + bytes(8)
    elst = struct.pack(">IIiHH", 1, audio_samples, track.delay_samples, 1, 0)
    mdhd = struct.pack(">4IHH", 0, 0, rate_hz, media_samples, _UNDETERMINED, 0)
    hdlr = struct.pack(">I4s12x", 0, b"soun") + b"sound\0"
    dref = struct.pack(">I", 1) + _full_box(b"url ", 0, _SAME_FILE)
    minf = _box(
        b"minf",
        _full_box(b"smhd", 0, 0, bytes(4)),
        _box(b"dinf", _full_box(b"dref", 0, 0, dref)),
        _box(b"stbl", _full_box(b"stsd", 0, 0, struct.pack(">I", 1), _mp4a(track)), tables),
    )
    mdia = _box(b"mdia", _full_box(b"mdhd", 0, 0, mdhd), _full_box(b"hdlr", 0, 0, hdlr), minf)
    edts = _box(b"edts", _full_box(b"elst", 0, 0, elst))
    trak = _box(b"trak", _full_box(b"tkhd", 0, _ENABLED_IN_MOVIE, tkhd), edts, mdia)
    return _box(b"moov", _full_box(b"mvhd", 0, 0, mvhd), trak, extra)


def _tables(times: bytes, chunks: bytes, lengths: bytes, offsets: bytes) -> bytes:
    tables = {b"stts": times, b"stsc": chunks, b"stsz": lengths, b"stco": offsets}
    return b"".join(_full_box(kind, 0, 0, table) for kind, table in tables.items())


def _mp4a(track: Track) -> bytes:
    """The sample entry: mono, with the decoder's configuration (ISO/IEC 14496-1, 7.2.6)."""
    entry = struct.pack(">6xH8xHHHHI", 1, 1, 16, 0, 0, track.sample_rate_hz << 16)
    decoder = struct.pack(">BBxHII", 0x40, 0x15, 0, track.bit_rate, track.bit_rate)  # MPEG-4 audio, an audio stream
    decoder += _descriptor(5, track.configuration)
    descriptor = _descriptor(3, struct.pack(">HB", 0, 0) + _descriptor(4, decoder) + _descriptor(6, b"\2"))
    return _box(b"mp4a", entry, _full_box(b"esds", 0, 0, descriptor))


def _descriptor(tag: int, body: bytes) -> bytes:
    """All of ours are shorter than 128 bytes, whose length is one byte."""
    return bytes([tag, len(body)]) + body
