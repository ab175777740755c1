"""Safetensors beside the export: from what is prepared already where it is whole, from the source elsewhere."""

from __future__ import annotations

import runpy
import sys
from typing import TYPE_CHECKING, Any

import pytest
from kokoro_weights.dequantised_source import DequantisedSource
from kokoro_weights.digest import Digest
from kokoro_weights.errors import HashMismatch, SourceMissing, SourceUnknown
from kokoro_weights.preparation import Place, prepare, prepare_from
from safetensors.numpy import load_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kokoro_weights.directory import WeightsDirectory


class Export:
    """The stand-in source with a graph that can be read; counts how often it is asked."""

    name = "stand-in"
    inputs = "export"

    def __init__(self, stand_in: Callable[..., Any], model: bytes) -> None:
        self._stand_in = stand_in()
        self._model = model
        self.fills = 0

    def fill(self, staging: Any, progress: Any) -> Any:
        self.fills += 1
        write = staging.write

        def with_graph(path: str, chunks: Any, **about: Any) -> Any:
            return write(path, [self._model] if path.endswith(".onnx") else chunks, **about)

        staging.write = with_graph
        try:
            return self._stand_in.fill(staging, progress)
        finally:
            staging.write = write


@pytest.fixture
def export(stand_in: Callable[..., Any], data: Path) -> Export:
    return Export(stand_in, runpy.run_path(str(data / "small_export.py"))["small_export"]().SerializeToString())


def source(
    export: Export, prepared: WeightsDirectory | None = None, expected: Digest | None = None
) -> DequantisedSource:
    return DequantisedSource(export, lambda: prepared, expected=expected)


def test_the_directory_holds_the_export_and_what_was_made_from_it(export: Export, cache: Path) -> None:
    weights = prepare_from(source(export), Place(cache))
    assert weights.onnx_model is not None
    assert weights.safetensors_model is not None
    assert len(load_file(weights.safetensors_model)) == 19
    entry = weights.manifest.entry("model.safetensors")
    assert entry is not None
    assert (entry.origin, entry.licence) == ("de-quantised from model.int8.onnx", "CC0-1.0")
    weights.verify()


def test_what_is_prepared_already_is_copied_and_the_source_not_asked(export: Export, cache: Path) -> None:
    plain = prepare_from(export, Place(cache))
    weights = prepare_from(source(export, plain), Place(cache))
    assert export.fills == 1
    assert weights.path != plain.path
    assert set(plain.manifest.files) < set(weights.manifest.files)
    assert prepare_from(export, Place(cache)).path == plain.path, "the plain directory stays what it was"
    assert prepare_from(source(export), Place(cache)).path == weights.path
    assert export.fills == 1


def test_the_same_bytes_come_out_either_way(export: Export, tmp_path: Path) -> None:
    plain = prepare_from(export, Place(tmp_path / "1"))
    copied = prepare_from(source(export, plain), Place(tmp_path / "1"))
    asked = prepare_from(source(export), Place(tmp_path / "2"))
    assert copied.manifest == asked.manifest


def test_other_bytes_than_pinned_leave_nothing(export: Export, cache: Path) -> None:
    made = prepare_from(source(export), Place(cache)).manifest.entry("model.safetensors")
    assert made is not None
    with pytest.raises(HashMismatch, match=r"model\.safetensors: expected sha256 0000"):
        prepare_from(source(export, expected=Digest("0" * 64, made.size_bytes)), Place(cache / "other"))
    assert [path.name for path in (cache / "other").iterdir()] == [".weights.lock"]


def test_another_pin_or_export_is_another_directory(export: Export) -> None:
    inputs = {source(export).inputs, source(export, expected=Digest("0" * 64, 1)).inputs, export.inputs}
    export.inputs = "another"
    assert len(inputs | {source(export).inputs}) == 4


def test_without_safetensors_the_extra_is_named(export: Export, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(SourceMissing, match=r"kokoro-weights\[safetensors\]"):
        prepare_from(source(export), Place(cache))


def test_a_given_directory_without_safetensors_is_refused(prepared: WeightsDirectory) -> None:
    with pytest.raises(SourceUnknown, match=r"model\.safetensors.*kokoro-weights prepare --safetensors"):
        prepare("directory", directory=prepared.path, safetensors=True)


@pytest.mark.weights
@pytest.mark.slow
def test_the_real_weights_get_the_pinned_safetensors_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare("packages")  # in the cache, as `make setup` leaves it
    monkeypatch.setenv("PATH", "")  # no npm, so nothing can be fetched
    weights = prepare("packages", directory=tmp_path / "model", safetensors=True)
    weights.verify()
    assert weights.safetensors_model == tmp_path / "model" / "model.safetensors"
    assert len(weights.voice_names) == 54
    assert prepare("packages", directory=tmp_path / "model", safetensors=True).manifest == weights.manifest
