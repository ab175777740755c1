"""The command `agent-infra`: its groups of verbs, and the errors of other packages that it knows.

Exit codes are those of `infra_common.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from infra_common.program import EXIT_CODES, run

from agent_infra.cli import artefacts, asking, deploying, ending, observing

if TYPE_CHECKING:
    from infra_common.errors import InfraError

app = typer.Typer(
    help=(
        "Deploy, prove, operate and take down the voice agent on Amazon Bedrock AgentCore Runtime.\n\n"
        "It speaks with the endpoint of `speech-infra deploy`. "
        "Start with `agent-infra doctor`, then `agent-infra deploy`."
    ),
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (observing.app, deploying.app, asking.app, ending.app):
    app.registered_commands += group.registered_commands
app.add_typer(artefacts.image_app, name="image")


def main() -> None:
    """Entry point."""
    run("agent-infra", app, _of_others)


def _of_others(error: Exception) -> InfraError | None:
    from agent_infra.errors import AskingFailed

    if type(error).__module__.startswith(("local_cloud", "speech_client")):
        return AskingFailed(str(error), fix="agent-infra logs   (or agent-infra status)")
    return None
