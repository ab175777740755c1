"""The table of cases names tests that exist, so that none is lost when a test is renamed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"


def test_every_named_test_exists() -> None:
    named = re.findall(r"`(\S+\.py)::(\w+)`", (CASES / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 10
    for path, name in named:
        assert re.search(rf"def {name}\(", (ROOT / path).read_text(encoding="utf-8")), f"{path}::{name}"


def test_every_row_is_a_case() -> None:
    cases = set(re.findall(r"^(\d+)\. ", (CASES / "behaviour.md").read_text(encoding="utf-8"), re.MULTILINE))
    rows = re.findall(r"^\| (\d+) \|", (CASES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(cases) == 34
    assert set(rows) <= cases
    assert len(rows) == len(set(rows))
    assert {str(case) for case in range(1, 22)} <= set(rows), "those of the speech server"
