"""Stages beside the export: one file each, pinned, and made without a network from what is prepared."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from kokoro_weights.digest import Digest
from kokoro_weights.errors import CheckpointRefused, HashMismatch, SourceUnknown
from kokoro_weights.graph_surgery import Tensor
from kokoro_weights.manifest import STAGE_PATHS
from kokoro_weights.preparation import Place, prepare, prepare_from
from kokoro_weights.staged_source import StagedSource
from kokoro_weights.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kokoro_weights.directory import WeightsDirectory

ROWS = Tensor("rows", "float32", (1, "n", 3))
SMALL = (
    Stage("stages/text.onnx", (Tensor("signal", "float32", (1, 3, "n")),), (Tensor("plain", "float32", (1, 2, "n")),)),
    Stage("stages/generator.onnx", (ROWS,), (Tensor("product", "float32", (1, "n", 2), alias="audio"),)),
)


@pytest.fixture
def export(stand_in: Callable[..., Any], data: Path) -> Any:
    """The stand-in source with a quantised graph as its model."""
    graph = runpy.run_path(str(data / "quantised_graph.py"))["quantised_graph"]()
    return stand_in(model=graph.SerializeToString())


def source(export: Any, expected: Mapping[str, Digest] | None = None) -> StagedSource:
    return StagedSource(export, lambda: None, expected=expected or {}, wanted=SMALL)


def test_every_stage_has_its_file(export: Any, cache: Path) -> None:
    weights = prepare_from(source(export), Place(cache))
    assert weights.stages is None, "two of four"
    generator = onnx.load(weights.path / "stages" / "generator.onnx")
    assert [(tensor.name) for tensor in (*generator.graph.input, *generator.graph.output)] == ["rows", "audio"]
    entry = weights.manifest.entry("stages/generator.onnx")
    assert entry is not None
    assert (entry.origin, entry.licence) == ("de-quantised and cut from model.int8.onnx", "CC0-1.0")
    weights.verify()


def test_other_bytes_than_pinned_leave_nothing(export: Any, cache: Path) -> None:
    made = prepare_from(source(export), Place(cache)).manifest.entry("stages/text.onnx")
    assert made is not None
    wrong = {"stages/text.onnx": Digest("0" * 64, made.size_bytes)}
    with pytest.raises(HashMismatch, match=r"stages/text\.onnx: expected sha256 0000"):
        prepare_from(source(export, wrong), Place(cache / "other"))
    assert [path.name for path in (cache / "other").iterdir()] == [".weights.lock"]


def test_another_pin_is_another_directory(export: Any) -> None:
    assert source(export).inputs != source(export, {"stages/text.onnx": Digest("0" * 64, 1)}).inputs


def test_progress_tells_the_bytes_of_all_stages(export: Any, tmp_path: Path) -> None:
    plain = prepare_from(source(export), Place(tmp_path / "1")).manifest
    sizes = {path: Digest(entry.sha256, entry.size_bytes) for path in STAGE_PATHS if (entry := plain.entry(path))}
    told: list[tuple[str, int, int | None]] = []
    prepare_from(source(export, sizes), Place(tmp_path / "2"), progress=lambda *step: told.append(step))
    cut = [done for step, done, total in told if step == "cut the model into stages" and total is not None]
    assert cut[0] == 0
    assert cut[-1] == sum(digest.size_bytes for digest in sizes.values())


def test_an_export_of_another_form_is_refused_and_leaves_nothing(stand_in: Callable[..., Any], cache: Path) -> None:
    with pytest.raises(CheckpointRefused, match="expected a serialised ONNX model"):
        prepare_from(source(stand_in()), Place(cache))
    assert [path.name for path in cache.iterdir()] == [".weights.lock"]


def test_a_given_directory_without_stages_is_refused(prepared: WeightsDirectory) -> None:
    with pytest.raises(SourceUnknown, match=r"stages/text\.onnx.*kokoro-weights prepare --stages"):
        prepare("directory", directory=prepared.path, stages=True)


def test_the_hub_has_no_stages(cache: Path) -> None:
    with pytest.raises(SourceUnknown, match="the source 'hub' has no stages"):
        prepare("hub", cache=cache, stages=True)


@pytest.mark.weights
def test_the_real_stages_are_found_where_setup_left_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # no npm, so nothing can be fetched
    weights = prepare("packages", stages=True)
    assert weights.stages is not None
    assert weights.stages.sketch == weights.path / "stages" / "sketch.onnx"
    assert weights.stages.window == weights.path / "stages" / "window.onnx"
    assert len(weights.voice_names) == 54
