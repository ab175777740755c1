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
    from infra_common.leftovers import purge as delete_for_ever
    from infra_common.leftovers import report, require_nothing_billable

    from speech_infra.catalogue import MODELS
    from speech_infra.removal import require_unused

    targets = [here.target(name) for name in ([model] if model else MODELS)]
    found = _found(targets)
    if purge and any(each.is_ours for each in found):
        for target in targets:
            require_unused(target, force=force)
        delete_for_ever(found, here.console)
        found = _found(targets)
    report(found, here.console)
    scope = () if here.stage == "dev" else ("--stage", here.stage)
    require_nothing_billable(found, here.stage, " ".join(("speech-infra cleanup --purge", *scope)))


def _found(targets: list[Target]) -> list[Leftover]:
    from infra_common.kept_resources import shared_leftovers

    from speech_infra.cleanup import leftovers_of

    return [*(each for target in targets for each in leftovers_of(target)), *shared_leftovers(targets[0])]
