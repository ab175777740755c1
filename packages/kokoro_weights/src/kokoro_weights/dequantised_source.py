"""The `packages` source with safetensors: everything that it yields, and `model.safetensors` made from its int8 export.

Where the plain weights are prepared already their files are copied, so that this needs no network; elsewhere the
source is asked. The values are the export's (see `dequantiser`), and their SHA-256 is pinned: the same bytes on every
machine.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kokoro_weights.dequantiser import dequantise
from kokoro_weights.digest import CHUNK_BYTES, Digest
from kokoro_weights.errors import SourceMissing
from kokoro_weights.manifest import ONNX_PATH, SAFETENSORS_PATH
from kokoro_weights.pins import inputs_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.manifest import ModelIdentity
    from kokoro_weights.progress import Progress
    from kokoro_weights.source import Source
    from kokoro_weights.staging import Staging

RECIPE = 1
"""Raise it when other bytes are made from the same export."""


class DequantisedSource:
    """See the module's docstring.

    `export` yields an int8 ONNX model; `prepared` finds a whole directory that was made from it, or None; `expected`
    is the digest of what is made, None where it is not known.
    """

    def __init__(
        self, export: Source, prepared: Callable[[], WeightsDirectory | None], *, expected: Digest | None
    ) -> None:
        self._export = export
        self._prepared = prepared
        self._expected = expected

    @property
    def name(self) -> str:
        """The export's own: it is the same source, with one more file."""
        return self._export.name

    @property
    def inputs(self) -> str:
        """SHA-256 over the export's inputs and what is made of them."""
        expected = asdict(self._expected) if self._expected else None
        return inputs_digest("safetensors", RECIPE, self._export.inputs, expected)

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        """Write what the export's source has, then the safetensors."""
        prepared = self._prepared()
        if prepared is None:
            model = self._export.fill(staging, progress)
        else:
            model = prepared.manifest.model
            _copy(prepared, staging, progress)
        self._write_safetensors(staging, progress)
        return model

    def _write_safetensors(self, staging: Staging, progress: Progress) -> None:
        try:
            from safetensors.numpy import save
        except ImportError as error:
            raise SourceMissing(
                "the Python package safetensors is not installed; install the extra `kokoro-weights[safetensors]`"
            ) from error
        step, licence = "de-quantise the model", staging.entry(ONNX_PATH).licence
        progress(step, 0, None)
        data = save(dequantise(staging.written(ONNX_PATH).read_bytes()), metadata={"format": "pt"})
        staging.write(
            SAFETENSORS_PATH,
            [data],
            origin=f"de-quantised from {ONNX_PATH}",
            licence=licence,
            expected=self._expected,
        )
        progress(step, len(data), len(data))


def _copy(prepared: WeightsDirectory, staging: Staging, progress: Progress) -> None:
    total_bytes = sum(entry.size_bytes for entry in prepared.manifest.files)
    done_bytes = 0
    for entry in prepared.manifest.files:
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
