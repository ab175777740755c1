"""Where a preparation writes until all of it is right: nobody ever sees half of it.

Everything is written in a temporary directory beside its final place, flushed to the disk, and renamed as a whole. A
process that dies leaves such a directory behind; the next one that holds the lock removes it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from kokoro_weights.digest import Digest, require_digest
from kokoro_weights.errors import CacheBusy, StorageError
from kokoro_weights.manifest import MANIFEST_NAME, FileEntry, require_safe_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kokoro_weights.manifest import Manifest

PARTIAL_PREFIX = ".weights-partial-"
LOCK_NAME = ".weights.lock"


class Staging:
    """One preparation under way. `scratch` is for downloads; what `write` makes becomes the prepared directory."""

    def __init__(self, root: Path) -> None:
        self.scratch = root / "scratch"
        self._root = root
        self._weights = root / "weights"
        self._entries: list[FileEntry] = []
        self.scratch.mkdir()
        self._weights.mkdir()

    @property
    def entries(self) -> tuple[FileEntry, ...]:
        """What has been written so far."""
        return tuple(self._entries)

    def written(self, path: str) -> Path:
        """Where a file that has been written lies until it is published."""
        return self._weights / path

    def entry(self, path: str) -> FileEntry:
        """The entry of a file that has been written."""
        return next(entry for entry in self._entries if entry.path == path)

    def write(
        self, path: str, chunks: Iterable[bytes], *, origin: str, licence: str, expected: Digest | None = None
    ) -> FileEntry:
        """Write one file, flushed to the disk, and record it.

        Raises SizeMismatch or HashMismatch where the bytes are not the expected ones; what was written then stays in
        the temporary directory and goes with it.
        """
        require_safe_path(path)
        target = self._weights / path
        target.parent.mkdir(parents=True, exist_ok=True)
        hasher = hashlib.sha256()
        size_bytes = 0
        with target.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
                hasher.update(chunk)
                size_bytes += len(chunk)
            file.flush()
            os.fsync(file.fileno())
        found = Digest(hasher.hexdigest(), size_bytes)
        if expected is not None:
            require_digest(path, expected=expected, found=found)
        entry = FileEntry(path, found.sha256, found.size_bytes, origin, licence)
        self._entries.append(entry)
        return entry

    def publish(self, manifest: Manifest, target: Path, *, replace: bool) -> None:
        """Write the manifest last and rename the whole to `target`, which must not exist unless `replace` is set."""
        with (self._weights / MANIFEST_NAME).open("xb") as file:
            file.write(manifest.render())
            file.flush()
            os.fsync(file.fileno())
        for directory in (*(path for path in self._weights.rglob("*") if path.is_dir()), self._weights):
            _flush_directory(directory)
        if replace and target.exists():
            target.rename(self._root / "replaced")
        self._weights.rename(target)
        _flush_directory(target.parent)


@contextmanager
def locked(root: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the preparation lock of `root`, which is made if needed.

    Raises CacheBusy after `timeout_s`, and StorageError where the lock cannot be written.
    """
    lock = FileLock(root / LOCK_NAME, timeout=timeout_s)
    with storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise CacheBusy(
            f"{root}: another process has been preparing here for more than {timeout_s:g} s; wait for it, or end it"
        ) from error
    except OSError as error:
        raise _storage_error(root, error) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def staging(root: Path) -> Iterator[Staging]:
    """A Staging inside `root`, removed at the end whatever happens. Call it with the lock held.

    Because the lock is held, every other temporary directory here belongs to a process that died: it is removed too.
    """
    with storage_errors(root):
        for stale in root.glob(f"{PARTIAL_PREFIX}*"):
            shutil.rmtree(stale)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL_PREFIX, dir=root))
        try:
            yield Staging(partial)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def storage_errors(root: Path) -> Iterator[None]:
    """Turn what the file system answers (read-only, full, no permission) into a StorageError."""
    try:
        yield
    except OSError as error:
        raise _storage_error(root, error) from error


def _storage_error(root: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{root}: the weights cannot be written here ({error.strerror or error}); "
        "free some space or choose another place (--cache DIR or KOKORO_WEIGHTS_CACHE)"
    )


def _flush_directory(path: Path) -> None:
    """Make renames and new names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
