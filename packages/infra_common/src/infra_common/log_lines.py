"""The container's log lines from CloudWatch, and those that come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from infra_common.console import Console

POLL_S: Final = 2.0
_MOST_EVENTS: Final = 10_000
_SEEN: Final = 20_000
"""Ids that are remembered, so that lines with one time stamp come once."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line; `stream` names the instance."""

    at: datetime
    stream: str
    text: str


def lines_since(
    logs: Any,
    group: str,
    since: datetime,
    *,
    follow: bool,
    until: Callable[[], bool] = lambda: False,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[LogLine]:
    """Lines in order of time; with `follow` until somebody stops us. None where there is no group."""
    start_ms = round(since.timestamp() * 1000)
    seen: dict[str, None] = {}
    while True:
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, startTime=start_ms, PaginationConfig={"MaxItems": _MOST_EVENTS}
        )
        try:
            events = [event for page in pages for event in page["events"]]
        except logs.exceptions.ResourceNotFoundException:
            events = []
        for event in sorted(events, key=lambda each: each["timestamp"]):
            if event["eventId"] not in seen:
                seen[event["eventId"]] = None
                start_ms = max(start_ms, event["timestamp"])
                at = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
                yield LogLine(at, event["logStreamName"], event["message"].rstrip())
        for oldest in list(seen)[: max(0, len(seen) - _SEEN)]:
            del seen[oldest]
        if not follow or until():
            return
        pause(POLL_S)


def show_lines(logs: Any, group: str, minutes: int, console: Console, *, follow: bool) -> None:
    """Lines of the last so many minutes on standard output, with --json one document a line."""
    count = 0
    for line in lines_since(logs, group, datetime.now(UTC) - timedelta(minutes=minutes), follow=follow):
        count += 1
        if console.as_json:
            typer.echo(json.dumps({"at": line.at.isoformat(), "stream": line.stream, "text": line.text}))
        else:
            typer.echo(f"{line.at:%H:%M:%S} {line.stream.rpartition('/')[2]} {line.text}")
    if not count:
        console.note(f"no lines in {group} for {minutes} minutes")
