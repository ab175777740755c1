"""Log lines in the order of time, each once, and those that come while somebody looks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from infra_common.log_lines import POLL_S, lines_since

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
START_MS = round(START.timestamp() * 1000)


class GroupUnknown(Exception):
    pass


class Logs:
    """What a group holds at each look; None is a group that is not there. Remembers from when it was asked."""

    exceptions = type("exceptions", (), {"ResourceNotFoundException": GroupUnknown})

    def __init__(self, *looks: list[tuple[str, int, str]] | None) -> None:
        self._looks = list(looks)
        self.asked_from_ms: list[int] = []

    def get_paginator(self, name: str) -> "Logs":
        assert name == "filter_log_events"
        return self

    def paginate(self, *, startTime: int, **asked: Any) -> Iterator[dict[str, Any]]:  # noqa: N803 - AWS's name
        assert asked["logGroupName"] == "group"
        self.asked_from_ms.append(startTime)
        found = self._looks.pop(0) if self._looks else []
        if found is None:
            raise GroupUnknown
        for name, at_ms, text in found:
            event = {"eventId": name, "timestamp": START_MS + at_ms, "logStreamName": "a/i-1", "message": text}
            yield {"events": [event]}


def texts(logs: Logs, looks: int = 1) -> list[str]:
    pauses: list[float] = []
    lines = lines_since(
        logs, "group", START, follow=looks > 1, until=lambda: len(pauses) == looks - 1, pause=pauses.append
    )
    found = [line.text for line in lines]
    assert pauses == [POLL_S] * (looks - 1)
    return found


def test_lines_of_several_instances_come_in_the_order_of_time() -> None:
    assert texts(Logs([("b", 20, "second\n"), ("a", 10, "first\n")])) == ["first", "second"]


def test_a_line_that_is_found_twice_is_told_once_and_the_next_look_begins_there() -> None:
    logs = Logs([("a", 10, "one"), ("b", 20, "two")], [("b", 20, "two"), ("c", 20, "three")])
    assert texts(logs, looks=2) == ["one", "two", "three"]
    assert logs.asked_from_ms == [START_MS, START_MS + 20]


def test_a_group_that_is_not_there_yet_has_no_lines_and_is_waited_for() -> None:
    assert texts(Logs(None)) == []
    assert texts(Logs(None, [("a", 10, "at last")]), looks=2) == ["at last"]


def test_a_line_says_when_and_which_instance() -> None:
    (line,) = lines_since(Logs([("a", 1500, "ready")]), "group", START, follow=False)
    assert (line.at, line.stream, line.text) == (
        datetime(2026, 11, 29, 12, 0, 1, 500_000, tzinfo=UTC),
        "a/i-1",
        "ready",
    )
