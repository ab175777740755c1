"""The command `speech-infra`: its groups of verbs, and the errors of other packages that it knows.

Exit codes are those of `infra_common.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from infra_common.program import EXIT_CODES, run

from speech_infra.cli import artefacts, deploying, ending, observing, operating, pipeline, proving

if TYPE_CHECKING:
    from infra_common.errors import InfraError

app = typer.Typer(
    help=(
        "Deploy, prove, operate and take down the speech endpoint on Amazon SageMaker AI.\n\n"
        "Start with `speech-infra doctor`, then `speech-infra deploy kokoro-82m`."
    ),
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (observing.app, deploying.app, proving.app, operating.app, ending.app):
    app.registered_commands += group.registered_commands
app.add_typer(artefacts.weights_app, name="weights")
app.add_typer(artefacts.image_app, name="image")
app.add_typer(pipeline.app, name="pipeline")


def main() -> None:
    """Entry point."""
    run("speech-infra", app, _of_others)


def _of_others(error: Exception) -> InfraError | None:
    from infra_common.errors import OutcomeError
    from kokoro_weights import WeightsError

    if isinstance(error, WeightsError):
        return OutcomeError(str(error), fix="kokoro-weights prepare --repair")
    if type(error).__module__.startswith("speech_client"):
        return OutcomeError(str(error), fix="speech-infra status")
    return None
