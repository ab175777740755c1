"""Verbs that take down and tidy up: destroy, cleanup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from speech_infra.cli.situation import ModelArgument, Situation, situated

if TYPE_CHECKING:
    from infra_common.leftovers import Leftover

    from speech_infra.target import Target

app = typer.Typer()
ForceOption = Annotated[bool, typer.Option("--force", help="Also where an agent still uses the endpoint.")]
ReportOption = Annotated[bool, typer.Option("--report/--no-report", help="Tell what is kept, at the end.")]
AnyModelArgument = Annotated[
    str | None, typer.Argument(metavar="[MODEL]", help="Default: every model of the stage.", show_default=False)
]


@app.command(epilog="Example: speech-infra destroy kokoro-82m")
@situated
def destroy(
    model: ModelArgument, *, here: Situation, force: ForceOption = False, report_leftovers: ReportOption = True
) -> None:
    """Delete the endpoint and its stacks, wait for it, and report what is kept: weights, images, logs.

    Refused while an agent uses the endpoint.
    """
    from infra_common.leftovers import report

    from speech_infra.removal import destroy as take_down
    from speech_infra.removal import require_unused

    target = here.target(model)
    for user in require_unused(target, force=force):
        here.console.warn(f"{user.kind} {user.name} loses its voice; {user.removal} takes it down")
    here.console.confirm(
        f"Delete {target.names.endpoint} in {target.session.region}, account {target.session.account}? "
        "Whoever speaks to it now is cut off. Weights and images are kept.",
        target.names.endpoint,
    )
    removed = take_down(target)
    here.console.line(f"Deleted: {', '.join(removed)}" if removed else "There was no stack to delete.")
    if report_leftovers:
        report(_found([target]), here.console)


@app.command(epilog="Exit code 3 while something that costs money is left. Example: speech-infra cleanup --purge")
@situated
def cleanup(
    model: AnyModelArgument = None,
    *,
    here: Situation,
    purge: Annotated[bool, typer.Option("--purge", help="Delete it, after a typed yes. What is shared stays.")] = False,
    force: ForceOption = False,
) -> None:
    """Report everything that is left in the account, why it was kept and what it costs a month; from any machine."""
    from infra_common.errors import LeftoversRemain
    from infra_common.leftovers import dollars, monthly_usd, report

    from speech_infra.catalogue import MODELS
    from speech_infra.removal import require_unused

    targets = [here.target(name) for name in ([model] if model else MODELS)]
    found = _found(targets)
    if purge and any(each.is_ours for each in found):
        for target in targets:
            require_unused(target, force=force)
        found = _purge(here, targets, found)
    report(found, here.console)
    if any(each.is_billable for each in found):
        raise LeftoversRemain(
            f"something that costs money is left in stage {here.stage}: {dollars(monthly_usd(found))} a month",
            fix=" ".join(("speech-infra cleanup --purge", *(() if here.stage == "dev" else ("--stage", here.stage)))),
        )


def _purge(here: Situation, targets: list[Target], found: list[Leftover]) -> list[Leftover]:
    ours = [each for each in found if each.is_ours]
    here.console.note("\n".join(f"  {each.kind} {each.name} ({each.size})" for each in ours))
    here.console.confirm(f"Delete these {len(ours)} for ever?", "yes")
    for each in ours:
        if each.purge is not None:
            with here.console.step(f"delete {each.kind} {each.name}"):
                each.purge()
    return _found(targets)


def _found(targets: list[Target]) -> list[Leftover]:
    from infra_common.kept_resources import shared_leftovers

    from speech_infra.cleanup import leftovers_of

    return [*(each for target in targets for each in leftovers_of(target)), *shared_leftovers(targets[0])]
