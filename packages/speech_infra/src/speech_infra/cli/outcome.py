"""What frames every verb that changes an endpoint: the checks before it, the proof and the summary after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from infra_common.container_engine import ContainerEngine

    from speech_infra.deployment import Outcome
    from speech_infra.images import ImageRecipe
    from speech_infra.options import EndpointOptions
    from speech_infra.target import Target

SmokeOption = Annotated[bool, typer.Option("--smoke-test/--no-smoke-test", help="Let it speak at the end.")]


def run_doctor(target: Target, options: EndpointOptions, recipe: ImageRecipe | None, engine: ContainerEngine) -> None:
    """The checks before a deployment; quiet about what is well, unless a terminal looks. Raises CheckFailed."""
    from infra_common.aws_errors import explained
    from infra_common.checks import require_passed, run_checks

    from speech_infra.doctor import checks

    with target.console.step("doctor") as say:
        found = run_checks(
            checks(target, options, recipe, engine), explained, lambda each: say(f"{each.id}: {each.finding.result}")
        )
        require_passed(found)
    for each in found:
        if each.finding.status == "warning":
            target.console.warn(f"{each.id}: {each.finding.result}")


def finish(target: Target, outcome: Outcome, *, prove: bool) -> None:
    """Smoke test and summary."""
    from speech_infra.cli.proving import run_smoke_test
    from speech_infra.status import gather

    if prove and not outcome.release.is_paused:
        run_smoke_test(target, None)
    status = gather(target)
    console = target.console
    console.result({"changed": list(outcome.changed), **status.as_dict()})
    if outcome.changed:
        console.line("Changed: " + ", ".join(outcome.changed))
    else:
        console.line("Nothing has changed: everything was as wanted already.")
    console.table("", ("", target.names.endpoint), list(status.lines()))
