"""More files from the same export: copied where it is prepared whole, asked for elsewhere, found by their recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kokoro_weights.derived_source import DerivedSource
from kokoro_weights.preparation import Place, prepare_from

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kokoro_weights.directory import WeightsDirectory
    from kokoro_weights.source import Source


class Doubled(DerivedSource):
    """Adds the model twice over."""

    def __init__(self, export: Source, prepared: WeightsDirectory | None = None, recipe: int = 1) -> None:
        super().__init__(export, lambda: prepared)
        self._number = recipe

    def _recipe(self) -> tuple[str, int, object]:
        return "doubled", self._number, None

    def _write(self, staging: Any, progress: Any) -> None:
        data = staging.written("model.int8.onnx").read_bytes()
        staging.write("doubled.bin", [data, data], origin="a test", licence="CC0-1.0")


def test_the_directory_holds_the_export_and_what_was_made_from_it(stand_in: Callable[..., Any], cache: Path) -> None:
    weights = prepare_from(Doubled(stand_in()), Place(cache))
    entries = {entry.path: entry.size_bytes for entry in weights.manifest.files}
    assert entries["doubled.bin"] == 2 * entries["model.int8.onnx"]
    weights.verify()


def test_what_is_prepared_already_is_copied_and_the_source_not_asked(stand_in: Callable[..., Any], cache: Path) -> None:
    export = stand_in()
    plain = prepare_from(export, Place(cache))
    weights = prepare_from(Doubled(export, plain), Place(cache))
    assert export.fills == 1
    assert weights.path != plain.path
    assert set(plain.manifest.files) < set(weights.manifest.files)
    assert prepare_from(export, Place(cache)).path == plain.path, "the plain directory stays what it was"
    assert prepare_from(Doubled(export), Place(cache)).path == weights.path
    assert export.fills == 1


def test_the_same_bytes_come_out_either_way(stand_in: Callable[..., Any], tmp_path: Path) -> None:
    plain = prepare_from(stand_in(), Place(tmp_path / "1"))
    copied = prepare_from(Doubled(stand_in(), plain), Place(tmp_path / "1"))
    asked = prepare_from(Doubled(stand_in()), Place(tmp_path / "2"))
    assert copied.manifest == asked.manifest


def test_another_recipe_or_export_is_another_directory(stand_in: Callable[..., Any]) -> None:
    export = stand_in()
    inputs = {Doubled(export).inputs, Doubled(export, recipe=2).inputs, export.inputs}
    assert len(inputs | {Doubled(stand_in(inputs="another")).inputs}) == 4


def test_derived_sources_may_be_stacked(stand_in: Callable[..., Any], cache: Path) -> None:
    class Named(Doubled):
        def _write(self, staging: Any, progress: Any) -> None:
            staging.write("named.bin", [b"name"], origin="a test", licence="CC0-1.0")

    doubled = prepare_from(Doubled(stand_in()), Place(cache))
    both = prepare_from(Named(Doubled(stand_in()), doubled), Place(cache))
    assert {entry.path for entry in both.manifest.files} >= {"doubled.bin", "named.bin"}
