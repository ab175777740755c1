"""A source with more files: everything that another source yields, and what is made from its int8 export.

Where the other source's directory is prepared already its files are copied, so that this needs no network; elsewhere
that source is asked. What is made is pinned by its hash: the same bytes on every machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kokoro_weights.digest import CHUNK_BYTES, Digest
from kokoro_weights.pins import inputs_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.manifest import ModelIdentity
    from kokoro_weights.progress import Progress
    from kokoro_weights.source import Source
    from kokoro_weights.staging import Staging


class DerivedSource(ABC):
    """See the module's docstring.

    `export` yields an int8 ONNX model; `prepared` finds a whole directory that was made from it, or None.
    """

    def __init__(self, export: Source, prepared: Callable[[], WeightsDirectory | None]) -> None:
        self._export = export
        self._prepared = prepared

    @property
    def name(self) -> str:
        """The export's own: it is the same source, with more files."""
        return self._export.name

    @property
    def inputs(self) -> str:
        """SHA-256 over the export's inputs and what is made of them."""
        label, recipe, expected = self._recipe()
        return inputs_digest(label, recipe, self._export.inputs, expected)

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        """Write what the export's source has, then what is made from it."""
        prepared = self._prepared()
        if prepared is None:
            model = self._export.fill(staging, progress)
        else:
            model = prepared.manifest.model
            copy_files(prepared, staging, progress)
        self._write(staging, progress)
        return model

    @abstractmethod
    def _recipe(self) -> tuple[str, int, object]:
        """What is made, the number of the recipe, and what must come out (as JSON has it)."""

    @abstractmethod
    def _write(self, staging: Staging, progress: Progress) -> None:
        """Make the files from the export in `staging`."""


def copy_files(prepared: WeightsDirectory, staging: Staging, progress: Progress, *, but: str = "") -> None:
    """Write every file of a prepared directory again, `but` one, each with its origin and compared with its digest."""
    copied = [entry for entry in prepared.manifest.files if entry.path != but]
    total_bytes = sum(entry.size_bytes for entry in copied)
    done_bytes = 0
    for entry in copied:
        progress("copy the prepared weights", done_bytes, total_bytes)
        staging.write(
            entry.path,
            _chunks(prepared.path / entry.path),
            origin=entry.origin,
            licence=entry.licence,
            expected=Digest(entry.sha256, entry.size_bytes),
        )
        done_bytes += entry.size_bytes
    progress("copy the prepared weights", done_bytes, total_bytes)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
