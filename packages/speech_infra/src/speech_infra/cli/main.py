"""The command `speech-infra`: its groups of verbs, and how an error becomes a line and an exit code.

Exit codes: 0 done; 1 a check failed, or anything unforeseen; 2 usage; 3 something that costs money is left; 4 AWS
refuses (credentials, permission, network); 5 something must be done first; 6 tried and failed; 7 AWS goes on without
us; 130 interrupted.
"""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType

import typer

from speech_infra.cli import artefacts, deploying, ending, observing, operating, pipeline, proving

_EPILOG = (
    "Exit codes: 0 done, 1 a check failed, 2 usage, 3 something billable is left, 4 AWS refuses, 5 something must be "
    "done first, 6 tried and failed, 7 AWS goes on without us, 130 interrupted."
)

app = typer.Typer(
    help=(
        "Deploy, prove, operate and take down the speech endpoint on Amazon SageMaker AI.\n\n"
        "Start with `speech-infra doctor`, then `speech-infra deploy kokoro-82m`."
    ),
    epilog=_EPILOG,
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
    """Entry point: an error that we know is a line, what helps, and a code; never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # where the locale cannot show a tick
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # other packages' trees are looked at only once something has failed
        code = _tell(error)
        if code is None:
            raise
        sys.exit(code)


def _tell(error: Exception) -> int | None:
    """Say what went wrong; None for what nobody has foreseen."""
    from infra_common.aws_errors import explained
    from infra_common.console import Console
    from infra_common.errors import InfraError, OutcomeError
    from kokoro_weights import WeightsError

    ours: InfraError | None = error if isinstance(error, InfraError) else explained(error)
    if ours is None and isinstance(error, WeightsError):
        ours = OutcomeError(str(error), fix="kokoro-weights prepare --repair")
    if ours is None and type(error).__module__.startswith("speech_client"):
        ours = OutcomeError(str(error), fix="speech-infra status")
    if ours is None and isinstance(error, OSError) and error.strerror:
        ours = OutcomeError(f"{error.filename or 'output'}: {error.strerror}")
    if ours is None:
        return None
    Console("speech-infra", as_json="--json" in sys.argv, no_color="--no-color" in sys.argv).error(ours)
    return ours.exit_code


def _end(number: int, frame: FrameType | None) -> None:
    """Leave on SIGTERM by unwinding, so that what goes on without us is said."""
    del frame
    sys.exit(128 + number)
