"""Results and notes apart, one line an error, no answer without somebody to give it."""

import json

import pytest
from infra_common.console import Console
from infra_common.errors import PreconditionError, UsageError


def test_results_go_out_and_notes_beside(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console("tool")
    console.note("beside")
    console.line("result")
    console.result({"not": "shown"})
    told = capsys.readouterr()
    assert (told.out, told.err) == ("result\n", "beside\n")


def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console("tool", as_json=True)
    with console.step("work") as say:
        say("half")
        say("half")
    console.line("not shown")
    console.table("", ("a",), [("b",)])
    console.result({"a": 1})
    told = capsys.readouterr()
    assert json.loads(told.out) == {"a": 1}
    assert told.err.count("half") == 1


def test_an_error_is_one_line_and_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    Console("tool").error(PreconditionError("one\ntwo", fix="do this"))
    assert capsys.readouterr().err == "tool: one two\n  fix: do this\n"


def test_nobody_at_a_terminal_is_a_no_and_yes_is_a_yes() -> None:
    with pytest.raises(UsageError, match="Nobody is at a terminal") as refused:
        Console("tool").confirm("Delete it?", "yes")
    assert refused.value.fix == "add --yes"
    Console("tool", assume_yes=True).confirm("Delete it?", "yes")


def test_a_transfer_tells_each_tenth_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Console("tool").transfer("upload", 1000) as done:
        for _ in range(1000):
            done(1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.strip() for line in lines if "%" in line] == [f"upload: {tenth}0 %" for tenth in range(1, 10)]
