"""The checks before a deployment, as a command of their own and at the head of `deploy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from infra_common.aws_errors import explained
from infra_common.checks import Check, require_passed, run_checks, show

if TYPE_CHECKING:
    from infra_common.console import Console


def examine(planned: Sequence[Check], console: Console) -> None:
    """Every check with its result and its fix. Exit code 1 where one failed."""
    found = run_checks(planned, explained, lambda each: show(each, console))
    has_failed = any(each.finding.status == "failed" for each in found)
    console.result({"checks": [each.as_dict() for each in found], "passed": not has_failed})
    if has_failed:
        raise typer.Exit(1)


def require(planned: Sequence[Check], console: Console) -> None:
    """Quiet about what is well, unless a terminal looks. Raises CheckFailed."""
    with console.step("doctor") as say:
        found = run_checks(planned, explained, lambda each: say(f"{each.id}: {each.finding.result}"))
        require_passed(found)
    for each in found:
        if each.finding.status == "warning":
            console.warn(f"{each.id}: {each.finding.result}")
