"""Verbs that take down and tidy up: destroy, cleanup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agent_infra.cli.situation import DEFAULT_AGENT, AgentOption, Situation, situated

if TYPE_CHECKING:
    from infra_common.leftovers import Leftover

app = typer.Typer()
ReportOption = Annotated[bool, typer.Option("--report/--no-report", help="Tell what is kept, at the end.")]
AnyAgentOption = Annotated[
    str | None, typer.Option("--agent", help="Default: every agent of the stage.", metavar="NAME", show_default=False)
]
WholeStageOption = Annotated[
    bool, typer.Option("--whole-stage", help="With what the stage's speech endpoints have left: one report of both.")
]


@app.command(epilog="Example: agent-infra destroy")
@situated
def destroy(*, here: Situation, agent: AgentOption = DEFAULT_AGENT, report_leftovers: ReportOption = True) -> None:
    """Delete the agent and its stacks, wait for it, and report what is kept: images and logs."""
    from infra_common.kept_resources import shared_leftovers
    from infra_common.leftovers import report

    from agent_infra.cleanup import leftovers_of
    from agent_infra.removal import destroy as take_down

    target = here.target(agent)
    here.console.confirm(
        f"Delete {target.names.deployment} in {target.session.region}, account {target.session.account}? "
        "Whoever talks to it now is cut off. Images and logs are kept.",
        target.names.deployment,
    )
    removed = take_down(target)
    here.console.line(f"Deleted: {', '.join(removed)}" if removed else "There was no stack to delete.")
    if report_leftovers:
        report([*leftovers_of(target), *shared_leftovers(target)], here.console)


@app.command(epilog="Exit code 3 while something that costs money is left. Example: agent-infra cleanup --purge")
@situated
def cleanup(
    *,
    here: Situation,
    agent: AnyAgentOption = None,
    whole_stage: WholeStageOption = False,
    purge: Annotated[bool, typer.Option("--purge", help="Delete it, after a typed yes. What is shared stays.")] = False,
) -> None:
    """Report everything that is left in the account, why it was kept and what it costs a month; from any machine."""
    from infra_common.leftovers import purge as delete_for_ever
    from infra_common.leftovers import report, require_nothing_billable

    found = _found(here, agent, whole_stage=whole_stage)
    if purge and any(each.is_ours for each in found):
        delete_for_ever(found, here.console)
        found = _found(here, agent, whole_stage=whole_stage)
    report(found, here.console)
    scope = (*(["--whole-stage"] if whole_stage else []), *([] if here.stage == "dev" else ["--stage", here.stage]))
    require_nothing_billable(found, here.stage, " ".join(("agent-infra cleanup --purge", *scope)))


def _found(here: Situation, agent: str | None, *, whole_stage: bool) -> list[Leftover]:
    from infra_common.kept_resources import shared_leftovers
    from infra_common.leftovers import whole_stage as everything

    from agent_infra.cleanup import leftovers_of, leftovers_of_stage

    target = here.target(agent or DEFAULT_AGENT)
    if whole_stage:
        found = everything(here.stage, target.session, here.console)
    elif agent is not None:
        found = leftovers_of(target)
    else:
        found = leftovers_of_stage(here.stage, target.session, here.console)
    return [*found, *shared_leftovers(target)]
