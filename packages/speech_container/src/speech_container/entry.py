"""The console script: from its first moment on, SIGTERM and Ctrl-C end it with 0.

A platform may stop a container at any time, and importing what the server is made of takes a second, and several from
a cold disk. Until a handler is there, the signal kills the process with an error, or is lost where it is the first one
of its container. So this comes before every other import; the server replaces it by draining.
"""

import os
import signal


def main() -> None:
    """`speech-container`, see `cli`."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    from .cli import app

    app()


def _leave(_number: int, _frame: object) -> None:
    """There is nothing to finish yet, and SystemExit could be caught by whoever imports something optional."""
    os._exit(0)
