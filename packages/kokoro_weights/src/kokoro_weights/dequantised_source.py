"""The `packages` source with safetensors: `model.safetensors`, made from its int8 export by `dequantiser`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kokoro_weights.dequantiser import dequantise
from kokoro_weights.derived_source import DerivedSource
from kokoro_weights.errors import SourceMissing
from kokoro_weights.manifest import ONNX_PATH, SAFETENSORS_PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from kokoro_weights.digest import Digest
    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.progress import Progress
    from kokoro_weights.source import Source
    from kokoro_weights.staging import Staging

RECIPE = 1
"""Raise it when other bytes are made from the same export."""


class DequantisedSource(DerivedSource):
    """A DerivedSource; `expected` is the digest of what is made, None where it is not known."""

    def __init__(
        self, export: Source, prepared: Callable[[], WeightsDirectory | None], *, expected: Digest | None
    ) -> None:
        super().__init__(export, prepared)
        self._expected = expected

    def _recipe(self) -> tuple[str, int, object]:
        return "safetensors", RECIPE, asdict(self._expected) if self._expected else None

    def _write(self, staging: Staging, progress: Progress) -> None:
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
