"""Weights from this machine into the bucket, under the hash of their manifest, each sent with the hash it must have.

S3 compares every upload with the SHA-256 that we announce and refuses what differs. What is there with the right length
and hash is not sent again. The manifest goes last, so that a prefix with a manifest is whole.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from infra_common.aws_errors import code_of
from infra_common.console import Console

from speech_infra.errors import UploadCorrupt
from speech_infra.release import weights_prefix

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

_AT_ONCE: Final = 8
_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Piece:
    """One file of the weights."""

    path: Path
    key: str
    size_bytes: int
    sha256: str

    @property
    def checksum(self) -> str:
        """The hash as S3 writes it."""
        return base64.b64encode(bytes.fromhex(self.sha256)).decode()


@dataclass(frozen=True, slots=True)
class Synced:
    """What `sync` did."""

    sent_files: int
    sent_bytes: int
    kept_files: int


def content_of(weights: WeightsDirectory) -> str:
    """What the weights are named by in the bucket."""
    return weights.manifest.content[:32]


def pieces_of(weights: WeightsDirectory) -> list[Piece]:
    """Every file, the manifest last."""
    from kokoro_weights.digest import file_sha256

    prefix = weights_prefix(content_of(weights))
    pieces = [
        Piece(weights.path / entry.path, f"{prefix}{entry.path}", entry.size_bytes, entry.sha256)
        for entry in weights.manifest.files
    ]
    manifest = weights.path / _MANIFEST
    size_bytes = manifest.stat().st_size
    return [*pieces, Piece(manifest, f"{prefix}{_MANIFEST}", size_bytes, file_sha256(manifest))]


def sync(s3: Any, bucket: str, weights: WeightsDirectory, console: Console) -> Synced:
    """Bring the prefix to what the manifest says. Raises UploadCorrupt, or what botocore raises."""
    return send_missing(s3, bucket, pieces_of(weights), console)


def send_missing(s3: Any, bucket: str, pieces: Sequence[Piece], console: Console) -> Synced:
    """Send what is not there yet; the last piece is the manifest. Raises as `sync` does."""
    *files, manifest = pieces
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        is_there = list(pool.map(lambda piece: _is_there(s3, bucket, piece), [*files, manifest]))
    missing = [piece for piece, there in zip([*files, manifest], is_there, strict=True) if not there]
    total_bytes = sum(piece.size_bytes for piece in missing)
    if not missing:
        console.note(f"{len(files) + 1} files of weights are in the bucket already, each with the right hash")
        return Synced(0, 0, len(files) + 1)
    with console.transfer("upload weights", total_bytes) as done:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for sent in [pool.submit(_send, s3, bucket, piece, done) for piece in missing if piece is not manifest]:
                sent.result()
        if manifest in missing:
            _send(s3, bucket, manifest, done)
    return Synced(len(missing), total_bytes, len(files) + 1 - len(missing))


def _is_there(s3: Any, bucket: str, piece: Piece) -> bool:
    try:
        head = s3.head_object(Bucket=bucket, Key=piece.key, ChecksumMode="ENABLED")
    except s3.exceptions.ClientError as error:
        if code_of(error) in {"404", "NoSuchKey", "NotFound"}:
            return False
        raise
    return bool(head["ContentLength"] == piece.size_bytes and head.get("ChecksumSHA256") == piece.checksum)


def _send(s3: Any, bucket: str, piece: Piece, done: Callable[[int], None]) -> None:
    with piece.path.open("rb") as file:
        try:
            s3.put_object(
                Bucket=bucket,
                Key=piece.key,
                Body=_Counted(file, done),
                ContentLength=piece.size_bytes,
                ChecksumAlgorithm="SHA256",
                ChecksumSHA256=piece.checksum,
            )
        except s3.exceptions.ClientError as error:
            if code_of(error) in {"BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest"}:
                raise UploadCorrupt(
                    f"{piece.path.name} is not what the manifest says: S3 computed another hash and refused it",
                    fix="kokoro-weights verify   (then `kokoro-weights prepare --repair`)",
                ) from error
            raise


class _Counted:
    """A file that says what was read of it; a retry, which seeks back, takes that back."""

    def __init__(self, file: BinaryIO, done: Callable[[int], None]) -> None:
        self._file = file
        self._done = done
        self._told = 0

    def read(self, size: int = -1) -> bytes:
        """As a file's."""
        data = self._file.read(size)
        position = self._file.tell()
        if position > self._told:
            self._done(position - self._told)
            self._told = position
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """As a file's."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """As a file's."""
        return self._file.tell()
