"""An image's tag from what it is made of, and a build context that holds exactly that.

The context is staged: the named files are copied into an empty folder and hashed on the way, so the engine cannot see a
file that the tag does not cover. The same sources give the same tag on every machine, and a push can be skipped.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra_common.errors import PreconditionError

_SKIPPED: Final = frozenset({"__pycache__", "tests", "node_modules", "dist", "build"})
_LENGTH: Final = 32
_EXECUTABLE: Final = 0o100


@dataclass(frozen=True, slots=True)
class StagedContext:
    """`tag` is `sha-` and 32 hex digits."""

    directory: Path
    tag: str
    size_bytes: int


def stage_context(root: Path, inputs: Iterable[str], directory: Path, *, recipe: Iterable[str]) -> StagedContext:
    """Copy `inputs` (files or folders below `root`) into `directory`; `recipe` is hashed with them: stage, platform.

    Tests, caches and hidden files are left out. Raises PreconditionError for an input that is not there.
    """
    digest = hashlib.sha256()
    for part in recipe:
        digest.update(f"{part}\0".encode())
    size_bytes = 0
    for path in sorted(set(_files(root, inputs))):
        data = (root / path).read_bytes()
        is_executable = bool((root / path).stat().st_mode & _EXECUTABLE)
        digest.update(f"{path.as_posix()}\0{int(is_executable)}\0{len(data)}\0".encode())
        digest.update(data)
        size_bytes += len(data)
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, target)
    return StagedContext(directory, f"sha-{digest.hexdigest()[:_LENGTH]}", size_bytes)


def _files(root: Path, inputs: Iterable[str]) -> Iterator[Path]:
    for each in inputs:
        start = root / each
        if start.is_file():
            yield start.relative_to(root)
        elif start.is_dir():
            for path in start.rglob("*"):
                relative = path.relative_to(root)
                inner = path.relative_to(start).parts
                if path.is_file() and not any(part in _SKIPPED or part.startswith(".") for part in inner):
                    yield relative
        else:
            raise PreconditionError(f"{start} is missing, and the image is made of it")
