"""How things are, as `status` shows it and as every verb that changes something ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from infra_common.console import Console


class Status(Protocol):
    """How things are, for a program and for a person."""

    def as_dict(self) -> dict[str, Any]:
        """For --json."""

    def lines(self) -> Iterable[tuple[str, str]]:
        """What and how it is, for a table."""


def show_status(status: Status, name: str, console: Console) -> None:
    """As `status` does."""
    console.result(status.as_dict())
    _show_table(status, name, console)


def show_outcome(changed: Sequence[str], status: Status, name: str, console: Console) -> None:
    """What was made or changed, and the status after it."""
    console.result({"changed": list(changed), **status.as_dict()})
    if changed:
        console.line("Changed: " + ", ".join(changed))
    else:
        console.line("Nothing has changed: everything was as wanted already.")
    _show_table(status, name, console)


def alarm_states(cloudwatch: Any, stack: str) -> dict[str, str]:
    """The state of each alarm by its construct's name, of the ones that `stack` makes in its construct Alarms."""
    prefix = f"{stack}-Alarms"
    # After it comes the construct's name, with eight hex digits of CDK's, then what CloudFormation adds.
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
    return {
        each["AlarmName"].removeprefix(prefix).partition("-")[0][:-8]: each["StateValue"]
        for page in pages
        for each in page["MetricAlarms"]
    }


def _show_table(status: Status, name: str, console: Console) -> None:
    console.table("", ("", name), list(status.lines()))
