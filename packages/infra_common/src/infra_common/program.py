"""A command from outside: how an error becomes a line, what helps, and an exit code."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from infra_common.errors import InfraError

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 a check failed, 2 usage, 3 something billable is left, 4 AWS refuses, 5 something must be "
    "done first, 6 tried and failed, 7 AWS goes on without us, 130 interrupted."
)


def run(program: str, app: Callable[[], object], others: Callable[[Exception], InfraError | None]) -> None:
    """An error that we know is a line, what helps, and a code; never a traceback.

    `others` knows the errors of other packages; it is asked only once something has failed.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # where the locale cannot show a tick
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        code = _tell(program, error, others)
        if code is None:
            raise
        sys.exit(code)


def _tell(program: str, error: Exception, others: Callable[[Exception], InfraError | None]) -> int | None:
    """Say what went wrong; None for what nobody has foreseen."""
    from infra_common.aws_errors import explained
    from infra_common.console import Console
    from infra_common.errors import InfraError, OutcomeError

    ours: InfraError | None = error if isinstance(error, InfraError) else explained(error) or others(error)
    if ours is None and isinstance(error, OSError) and error.strerror:
        ours = OutcomeError(f"{error.filename or 'output'}: {error.strerror}")
    if ours is None:
        return None
    Console(program, as_json="--json" in sys.argv, no_color="--no-color" in sys.argv).error(ours)
    return ours.exit_code


def _end(number: int, frame: FrameType | None) -> None:
    """Leave on SIGTERM by unwinding, so that what goes on without us is said."""
    del frame
    sys.exit(128 + number)
