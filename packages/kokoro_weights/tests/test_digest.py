"""Digests compare length first, and name the file, the expected and the found."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from kokoro_weights.digest import Digest, file_sha256, require_digest
from kokoro_weights.errors import FileMissing, HashMismatch, SizeMismatch


def test_a_file_and_its_bytes_have_one_digest(tmp_path: Path) -> None:
    data = b"kokoro" * 1000
    (tmp_path / "x").write_bytes(data)
    assert file_sha256(tmp_path / "x") == Digest.of(data).sha256 == hashlib.sha256(data).hexdigest()


def test_a_shorter_file_is_refused_by_its_length() -> None:
    with pytest.raises(SizeMismatch, match=r"x\.bin: expected 3 bytes, found 2"):
        require_digest("x.bin", expected=Digest.of(b"abc"), found=Digest.of(b"ab"))


def test_other_bytes_are_refused_by_both_hashes() -> None:
    expected, found = Digest.of(b"abc"), Digest.of(b"abd")
    with pytest.raises(HashMismatch, match=rf"x\.bin: expected sha256 {expected.sha256}, found {found.sha256}"):
        require_digest("x.bin", expected=expected, found=found)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"gone: cannot be read \(No such file"):
        file_sha256(tmp_path / "gone")
