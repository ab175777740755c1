"""Templates that were made before are used again, and only a few are kept. The real CDK is in the tests of stacks."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from infra_common.assembly import Assembly, fingerprint, synthesise, synthesise_once
from infra_common.errors import OutcomeError


class App:
    """Stands for a cdk.App: writes what a synthesis leaves."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def synth(self) -> None:
        self._directory.mkdir(parents=True)
        kind = {"type": "aws:cloudformation:stack"}
        (self._directory / "manifest.json").write_text(
            json.dumps({"artifacts": {"Voice": kind, "Tree": {"type": "x"}}})
        )
        (self._directory / "Voice.template.json").write_text('{"Resources": {}}')


@pytest.fixture
def made() -> list[Path]:
    """Where a synthesis has happened, in order."""
    return []


@pytest.fixture
def build(made: list[Path]) -> Callable[[Path], App]:
    def app(directory: Path) -> App:
        made.append(directory)
        return App(directory)

    return app


def test_an_assembly_tells_its_stacks_and_their_templates(build: Callable[[Path], App], tmp_path: Path) -> None:
    assembly = synthesise(build, tmp_path / "out")
    assert assembly.stacks == ["Voice"]
    assert assembly.template("Voice") == {"Resources": {}}


def test_the_same_fingerprint_is_made_once_and_another_replaces_it(
    build: Callable[[Path], App], made: list[Path], tmp_path: Path
) -> None:
    for mark in ("a", "a", "b"):
        synthesise(build, tmp_path / "out", mark)
    assert len(made) == 2


def test_going_back_to_an_earlier_release_makes_nothing(
    build: Callable[[Path], App], made: list[Path], tmp_path: Path
) -> None:
    found = [synthesise_once(build, tmp_path, mark * 64) for mark in "aba"]
    assert len(made) == 2
    assert found[0] == found[2] == Assembly(tmp_path / ("a" * 16))


def test_only_the_newest_few_stay(build: Callable[[Path], App], tmp_path: Path) -> None:
    for mark in "abcdea":
        synthesise_once(build, tmp_path, mark * 64)
    assert sorted(each.name[0] for each in tmp_path.iterdir()) == ["a", "c", "d", "e"]


def test_a_source_an_input_and_nothing_else_change_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "stack.py").write_text("1")
    before = fingerprint([tmp_path], "release")
    (tmp_path / "notes.txt").write_text("2")
    assert fingerprint([tmp_path], "release") == before
    assert fingerprint([tmp_path], "another") != before
    (tmp_path / "stack.py").write_text("2")
    assert fingerprint([tmp_path], "release") != before


def test_a_synthesis_that_fails_says_why_and_leaves_no_mark(tmp_path: Path) -> None:
    def broken(directory: Path) -> App:
        raise RuntimeError("no such property")

    with pytest.raises(OutcomeError, match="could not be made: no such property"):
        synthesise(broken, tmp_path / "out", "a")
    assert not (tmp_path / "out").exists()
