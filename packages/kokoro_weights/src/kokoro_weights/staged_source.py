"""The `packages` source with stages: one ONNX file for each of `stages.STAGES`, made from its int8 export."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kokoro_weights import stages
from kokoro_weights.derived_source import DerivedSource
from kokoro_weights.manifest import ONNX_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kokoro_weights.digest import Digest
    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.progress import Progress
    from kokoro_weights.source import Source
    from kokoro_weights.stages import Stage
    from kokoro_weights.staging import Staging

RECIPE = 1
"""Raise it when other bytes are made from the same export."""


class StagedSource(DerivedSource):
    """A DerivedSource; `expected` has the digest of each stage by its path, and none of those that are not known."""

    def __init__(
        self,
        export: Source,
        prepared: Callable[[], WeightsDirectory | None],
        *,
        expected: Mapping[str, Digest],
        wanted: tuple[Stage, ...] = stages.STAGES,
    ) -> None:
        super().__init__(export, prepared)
        self._expected = expected
        self._wanted = wanted

    def _recipe(self) -> tuple[str, int, object]:
        pinned = ((stage.path, self._expected.get(stage.path)) for stage in self._wanted)
        return "stages", RECIPE, {path: asdict(digest) if digest else None for path, digest in pinned}

    def _write(self, staging: Staging, progress: Progress) -> None:
        step, licence = "cut the model into stages", staging.entry(ONNX_PATH).licence
        total_bytes = sum(digest.size_bytes for digest in self._expected.values()) or None
        done_bytes = 0
        progress(step, done_bytes, total_bytes)
        for stage, data in stages.build(staging.written(ONNX_PATH).read_bytes(), self._wanted):
            staging.write(
                stage.path,
                [data],
                origin=f"de-quantised and cut from {ONNX_PATH}",
                licence=licence,
                expected=self._expected.get(stage.path),
            )
            done_bytes += len(data)
            progress(step, done_bytes, total_bytes)
