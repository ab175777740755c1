"""What a file is known by: its SHA-256 and its length, and the two refusals when they differ.

The length is checked first: it costs nothing, and "truncated" is a more useful message than "other bytes".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kokoro_weights.errors import FileMissing, HashMismatch, SizeMismatch

if TYPE_CHECKING:
    from pathlib import Path

CHUNK_BYTES = 1 << 20
"""Files are read in pieces of 1 MiB: large enough for the hash to be the cost, small enough for a progress bar."""

_ADVICE = "fetch it again (`kokoro-weights prepare --repair`) or restore the original"


@dataclass(frozen=True, slots=True)
class Digest:
    """SHA-256 in lower-case hexadecimal, and the length in bytes."""

    sha256: str
    size_bytes: int

    @classmethod
    def of(cls, data: bytes) -> Digest:
        """The digest of bytes in memory."""
        return cls(hashlib.sha256(data).hexdigest(), len(data))


def require_size(name: str, *, expected_bytes: int, found_bytes: int) -> None:
    """Raise SizeMismatch naming the file unless both lengths are equal."""
    if expected_bytes != found_bytes:
        raise SizeMismatch(f"{name}: expected {expected_bytes} bytes, found {found_bytes}; {_ADVICE}")


def require_sha256(name: str, *, expected: str, found: str) -> None:
    """Raise HashMismatch naming the file unless both hashes are equal."""
    if expected != found:
        raise HashMismatch(f"{name}: expected sha256 {expected}, found {found}; {_ADVICE}")


def require_digest(name: str, *, expected: Digest, found: Digest) -> None:
    """Raise SizeMismatch or HashMismatch naming the file unless both digests are equal."""
    require_size(name, expected_bytes=expected.size_bytes, found_bytes=found.size_bytes)
    require_sha256(name, expected=expected.sha256, found=found.sha256)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, read once; raises FileMissing when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileMissing(f"{path}: cannot be read ({error.strerror}); {_ADVICE}") from error
