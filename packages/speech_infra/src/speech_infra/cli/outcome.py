"""What ends every verb that changes an endpoint: the proof and the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from speech_infra.deployment import Outcome
    from speech_infra.target import Target

SmokeOption = Annotated[bool, typer.Option("--smoke-test/--no-smoke-test", help="Let it speak at the end.")]


def finish(target: Target, outcome: Outcome, *, prove: bool) -> None:
    """Smoke test and summary."""
    from infra_common.outcome import show_outcome

    from speech_infra.cli.proving import run_smoke_test
    from speech_infra.status import gather

    if prove and not outcome.release.is_paused:
        run_smoke_test(target, None)
    show_outcome(outcome.changed, gather(target), target.names.endpoint, target.console)
