"""Runs a command that must not outlive the process that started it, even one that was killed.

A process cannot clean up after its own SIGKILL, so the child watches instead: standard input is a pipe from the parent,
and its end means that the parent is gone. Works on every POSIX system, unlike a parent-death signal.

    python -m local_cloud.tether COMMAND [ARGUMENT ...]

The command gets SIGTERM at the parent's end or when the tether gets one, and SIGKILL after `GRACE_S`. The tether's exit
code is the command's (128 + signal if a signal ended it).
"""

import os
import select
import signal
import subprocess
import sys
from types import FrameType

GRACE_S = 30.0  # a speech server drains for up to 25 s


def main(command: list[str]) -> int:
    """Run `command` until it ends, the parent ends, or a SIGTERM comes."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        os.write(wake, bytes([number]))

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGCHLD, on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - the parent's own command
    while process.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [])
        told_to_end = woken in ready and signal.SIGTERM in os.read(woken, 64)
        if told_to_end or sys.stdin.fileno() in ready:
            _end(process)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
