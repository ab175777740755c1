"""What frames a deployment: the checks before it, the summary after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra_common.checks import Check

    from agent_infra.deployment import Outcome
    from agent_infra.target import Target


def run_doctor(target: Target, planned: list[Check]) -> None:
    """The checks before a deployment; quiet about what is well, unless a terminal looks. Raises CheckFailed."""
    from infra_common.aws_errors import explained
    from infra_common.checks import require_passed, run_checks

    with target.console.step("doctor") as say:
        found = run_checks(planned, explained, lambda each: say(f"{each.id}: {each.finding.result}"))
        require_passed(found)
    for each in found:
        if each.finding.status == "warning":
            target.console.warn(f"{each.id}: {each.finding.result}")


def finish(target: Target, outcome: Outcome) -> None:
    """Summary."""
    from agent_infra.status import gather

    status = gather(target)
    console = target.console
    console.result({"changed": list(outcome.changed), **status.as_dict()})
    if outcome.changed:
        console.line("Changed: " + ", ".join(outcome.changed))
    else:
        console.line("Nothing has changed: everything was as wanted already.")
    console.table("", ("", target.names.deployment), list(status.lines()))
