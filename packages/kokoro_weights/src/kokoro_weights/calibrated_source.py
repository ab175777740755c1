"""A prepared directory once more, with the table of norm statistics that was measured on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kokoro_weights.derived_source import copy_files
from kokoro_weights.digest import Digest
from kokoro_weights.manifest import NOISE_STATISTICS_PATH, STATISTICS_PATH
from kokoro_weights.pins import inputs_digest

if TYPE_CHECKING:
    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.manifest import ModelIdentity
    from kokoro_weights.progress import Progress
    from kokoro_weights.staging import Staging

RECIPE: Final = 1
"""Raise it when the same directory and table make other files."""


class CalibratedSource:
    """`weights`: what was measured; `table`: the bytes of its table, with the source's noise or without."""

    def __init__(self, weights: WeightsDirectory, table: bytes, *, noise: bool = False) -> None:
        self._weights = weights
        self._table = table
        self._path = NOISE_STATISTICS_PATH if noise else STATISTICS_PATH

    @property
    def name(self) -> str:
        """The weights' own: it is the same source, with one more file."""
        return self._weights.manifest.source

    @property
    def inputs(self) -> str:
        """SHA-256 over the directory and the table."""
        return inputs_digest("calibrated", RECIPE, self._weights.manifest.content, Digest.of(self._table).sha256)

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        """Copy the directory's files, and write the table beside them."""
        model = self._weights.manifest.model
        copy_files(self._weights, staging, progress, but=self._path)
        staging.write(
            self._path,
            [self._table],
            origin="measured by kokoro-weights calibrate on the files beside it",
            licence=model.licence,
        )
        return model
