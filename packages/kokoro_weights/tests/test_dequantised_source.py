"""Safetensors beside the export: pinned, and made without a network from what is prepared."""

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


@pytest.fixture
def export(stand_in: Callable[..., Any], data: Path) -> Any:
    """The stand-in source with a graph that can be read."""
    graph = runpy.run_path(str(data / "small_export.py"))["small_export"]()
    return stand_in(model=graph.SerializeToString())


def source(export: Any, expected: Digest | None = None) -> DequantisedSource:
    return DequantisedSource(export, lambda: None, expected=expected)


def test_the_directory_holds_the_export_and_what_was_made_from_it(export: Any, cache: Path) -> None:
    weights = prepare_from(source(export), Place(cache))
    assert weights.onnx_model is not None
    assert weights.safetensors_model is not None
    assert len(load_file(weights.safetensors_model)) == 19
    entry = weights.manifest.entry("model.safetensors")
    assert entry is not None
    assert (entry.origin, entry.licence) == ("de-quantised from model.int8.onnx", "CC0-1.0")
    weights.verify()


def test_other_bytes_than_pinned_leave_nothing(export: Any, cache: Path) -> None:
    made = prepare_from(source(export), Place(cache)).manifest.entry("model.safetensors")
    assert made is not None
    with pytest.raises(HashMismatch, match=r"model\.safetensors: expected sha256 0000"):
        prepare_from(source(export, expected=Digest("0" * 64, made.size_bytes)), Place(cache / "other"))
    assert [path.name for path in (cache / "other").iterdir()] == [".weights.lock"]


def test_another_pin_is_another_directory(export: Any) -> None:
    assert source(export).inputs != source(export, Digest("0" * 64, 1)).inputs


def test_without_safetensors_the_extra_is_named(export: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
