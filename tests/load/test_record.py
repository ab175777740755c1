"""The clients' story and the server's are held against each other."""

import json
from typing import Any

import pytest

from tests.load.reading import Ended
from tests.load.record import Record, differences
from tests.load.server import Log


def line(request_id: str | None, outcome: str, code: str | None = None) -> str:
    return json.dumps(
        {"level": "info", "message": f"request {outcome}", "face": "websocket", "request_id": request_id, "code": code}
    )


def log(*lines: str) -> Log:
    found = Log()
    for text in lines:
        found.read(text)
    return found


def record(**sent: Ended | None) -> Record:
    return Record(sent=dict(sent))


COMPLETE = Ended("a", "complete")
REFUSED = Ended("a", "error", "busy")


@pytest.mark.parametrize(
    ("ended", "lines"),
    [
        (COMPLETE, [line("a", "complete")]),
        (REFUSED, [line("a", "refused", "busy")]),
        (None, []),
        (None, [line("a", "dropped")]),
        (None, [line("a", "complete")]),
    ],
    ids=["complete", "refused", "never read", "dropped", "complete behind the client's back"],
)
def test_the_same_story_is_no_problem(ended: Ended | None, lines: list[str]) -> None:
    assert differences(record(a=ended), log(*lines)) == []


@pytest.mark.parametrize(
    ("ended", "lines", "problem"),
    [
        (COMPLETE, [], "is not in the server's log"),
        (COMPLETE, [line("a", "complete")] * 2, "has ended 2 times"),
        (COMPLETE, [line("a", "dropped")], "its client saw"),
        (REFUSED, [line("a", "refused", "rate_limited")], "its client saw"),
        (None, [line("a", "dropped"), line("a", "cancelled")], "has ended 2 times"),
        (None, [line(None, "refused", "invalid_json")], "the log has 1"),
    ],
    ids=["lost", "twice", "another end", "another code", "dropped twice", "nobody's"],
)
def test_another_story_is_a_problem(ended: Ended | None, lines: list[str], problem: str) -> None:
    (found,) = differences(record(a=ended), log(*lines))
    assert problem in found


def test_a_request_that_was_heard_must_be_in_the_log() -> None:
    heard = record(a=None)
    heard.begun.add("a")
    assert "is not in the server's log" in differences(heard, log())[0]


def test_a_second_answer_is_a_problem() -> None:
    twice = record(a=None)
    twice.saw(COMPLETE)
    twice.saw(COMPLETE)
    assert "second answer" in twice.problems[0]


def test_the_same_request_must_sound_the_same() -> None:
    heard = Record()
    for audio in (b"one", b"one", b"other"):
        heard.heard("what", audio, "who")
    assert len(heard.problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):",
        '{"level": "error", "message": "a session failed"}',
        '{"level": "info", "message": "m", "exception": "ValueError"}',
        '{"level": "warning", "message": "something that nobody expected"}',
    ],
    ids=["traceback", "error", "exception", "warning"],
)
def test_complaints_in_the_log_are_problems(text: Any) -> None:
    assert log(text).problems == [text]
