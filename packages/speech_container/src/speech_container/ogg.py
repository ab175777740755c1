"""Pages of an Ogg stream (RFC 3533), written as soon as they are wanted.

A page names the position at its end, so a page that is written can be played; nothing waits for the page after it.
"""

import secrets
import struct
import zlib
from collections.abc import Sequence
from typing import Final

_FIRST: Final = 2
_LAST: Final = 4
_MIRRORED: Final = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class OggStream:
    """One logical stream of packets of at most 32 kB. `serial` tells it from others; a random one by default."""

    def __init__(self, serial: int | None = None) -> None:
        self._serial = secrets.randbits(32) if serial is None else serial
        self._pages = 0

    def page(self, packets: Sequence[bytes], position: int, *, is_last: bool = False) -> bytes:
        """A page of whole packets. `position`: the granule position at its end."""
        lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
        if len(lacing) > 255:
            raise ValueError(f"a page has at most 255 segments of 255 bytes; {len(packets)} packets have {len(lacing)}")
        flags = (_FIRST if self._pages == 0 else 0) | (_LAST if is_last else 0)
        fields = (b"OggS", 0, flags, position, self._serial, self._pages, 0, len(lacing))
        page = bytearray(struct.pack("<4sBBqIIIB", *fields) + lacing + b"".join(packets))
        struct.pack_into("<I", page, 22, checksum(page))
        self._pages += 1
        return bytes(page)


def checksum(page: bytes | bytearray) -> int:
    """Ogg's CRC-32: zlib's polynomial with the bits the other way round, from 0, not inverted."""
    mirrored = zlib.crc32(page.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_MIRRORED), "big")
