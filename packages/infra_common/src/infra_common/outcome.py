"""How a verb that changes something ends: what it changed, and how things are now."""

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


def _show_table(status: Status, name: str, console: Console) -> None:
    console.table("", ("", name), list(status.lines()))
