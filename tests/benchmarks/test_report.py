"""Where measurements are written."""

from pathlib import Path

import pytest

from benchmarks.rig.report import Spread, percentile, put_blocks


def test_a_block_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    around = "Before.\n\n<!-- Figures: written by x.py -->\n{}\n<!-- /Figures -->\n\nAfter.\n"
    document.write_text(around.format("\nold\n\nolder\n"))
    for _ in range(2):
        put_blocks(document, {"Figures": "| new |\n\nbelow"}, "x.py")
        assert document.read_text() == around.format("\n| new |\n\nbelow\n")


def test_a_document_without_the_marks_is_left_alone(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("<!-- Figures: written by x.py -->\n")
    with pytest.raises(SystemExit, match="/Figures"):
        put_blocks(document, {"Figures": "new"}, "x.py")
    assert document.read_text() == "<!-- Figures: written by x.py -->\n"


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile([float(value) for value in range(1, 101)], 0.95) == 95.0
    assert percentile([4.0], 0.5) == 4.0


def test_a_spread_has_the_extremes() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(median=2.0, low=1.0, high=3.0)
