"""Weights on their way: what is there is not sent, the manifest goes last, and a refusal is told by the file's name."""

import base64
import hashlib
import io
import threading
from pathlib import Path
from typing import Any

import pytest
from infra_common.console import Console
from speech_infra.errors import UploadCorrupt
from speech_infra.weights import Piece, Synced, _Counted, send_missing

BUCKET = "weights"


class Refused(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


class Bucket:
    """Objects by key, in the order in which they came; `refuses` holds a key that S3 does not take."""

    exceptions = type("exceptions", (), {"ClientError": Refused})

    def __init__(self, refuses: str = "", code: str = "BadDigest") -> None:
        self.objects: dict[str, bytes] = {}
        self._refuses, self._code = refuses, code
        self._lock = threading.Lock()

    def head_object(self, *, Key: str, **_asked: str) -> dict[str, Any]:  # noqa: N803 - AWS's name
        if Key not in self.objects:
            raise Refused("404")
        data = self.objects[Key]
        return {"ContentLength": len(data), "ChecksumSHA256": base64.b64encode(hashlib.sha256(data).digest()).decode()}

    def put_object(self, *, Key: str, Body: Any, ChecksumSHA256: str, **_asked: Any) -> None:  # noqa: N803 - AWS's names
        data = Body.read()
        if Key == self._refuses or hashlib.sha256(data).digest() != base64.b64decode(ChecksumSHA256):
            raise Refused(self._code)
        with self._lock:
            self.objects[Key] = data


@pytest.fixture
def pieces(tmp_path: Path) -> list[Piece]:
    """Three small files and a manifest."""
    made = []
    for name in ("a.bin", "b.bin", "c.bin", "manifest.json"):
        path = tmp_path / name
        path.write_bytes(name.encode() * 100)
        made.append(Piece(path, f"weights/x/{name}", len(name) * 100, hashlib.sha256(path.read_bytes()).hexdigest()))
    return made


def sent(bucket: Bucket, pieces: list[Piece]) -> Synced:
    return send_missing(bucket, BUCKET, pieces, Console("speech-infra", as_json=True))


def test_the_manifest_goes_last_so_that_a_prefix_with_one_is_whole(pieces: list[Piece]) -> None:
    bucket = Bucket()
    done = sent(bucket, pieces)
    assert (done.sent_files, done.kept_files) == (4, 0)
    assert done.sent_bytes == sum(piece.size_bytes for piece in pieces)
    assert list(bucket.objects)[-1] == "weights/x/manifest.json"


def test_what_is_there_with_its_hash_is_not_sent_again(pieces: list[Piece]) -> None:
    bucket = Bucket()
    sent(bucket, pieces)
    bucket.objects[pieces[1].key] = b"x" * pieces[1].size_bytes
    assert sent(bucket, pieces) == Synced(1, pieces[1].size_bytes, 3)
    assert sent(bucket, pieces).sent_files == 0


def test_a_file_that_s3_finds_to_differ_is_named_and_no_manifest_follows(pieces: list[Piece]) -> None:
    bucket = Bucket(refuses=pieces[0].key)
    with pytest.raises(UploadCorrupt, match=r"a\.bin is not what the manifest says") as refused:
        sent(bucket, pieces)
    assert "kokoro-weights verify" in str(refused.value.fix)
    assert "weights/x/manifest.json" not in bucket.objects


def test_a_refusal_of_another_kind_is_not_taken_for_damage(pieces: list[Piece]) -> None:
    with pytest.raises(Refused, match="AccessDenied"):
        sent(Bucket(refuses=pieces[0].key, code="AccessDenied"), pieces)


def test_what_a_retry_reads_again_is_counted_once() -> None:
    counted: list[int] = []
    file = _Counted(io.BytesIO(b"x" * 100), counted.append)
    assert len(file.read(60)) == 60
    file.seek(0)
    while file.read(30):
        pass
    assert sum(counted) == 100
