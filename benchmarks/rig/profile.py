"""Whose work a server's processor time is: a sampling profile, sorted by the module that was at work.

py-spy reads another process's stacks without stopping its work or changing its code. It samples Python threads that
run; onnxruntime's own threads have no Python stack, so what they do is not counted, and every share but the engine's
looks larger than it is.
"""

import asyncio
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

RATE_HZ: Final = 200
PROTOCOL: Final = "framing and JSON"
ENGINE: Final = "engine"
REST: Final = "sessions, scheduler, event loop"
#: Whose work a stack is: the innermost frame of a file that has one of these in its path.
_OWNERS: Final = {
    PROTOCOL: ("/speech_protocol/", "/json/"),
    ENGINE: ("_engine.py",),
    "phonemes": ("/speech_text/", "/misaki/", "/spacy/", "/thinc/", "/phonemizer/"),
    "encoding": ("/pcm.py", "/wav.py", "/encoders.py", "/resampler.py", "/codec.py"),
    "WebSocket library": ("/websockets/", "/uvicorn/protocols/", "/starlette/"),
    "logs and metrics": ("/logging/", "/prometheus_client/", "/telemetry.py", "/metrics.py", "/opentelemetry/"),
    REST: ("/speech_container/",),
}
_FRAME_FILE: Final = re.compile(r"\(([^()]+):\d+\)$")


class NotProfiled(Exception):
    """py-spy could not read the process."""


async def sample(pid: int, seconds: float) -> Counter[str]:
    """Samples by owner, of process `pid`, for as long. Raises `NotProfiled`."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory:
        stacks = Path(directory) / "stacks.txt"
        options = ["--pid", str(pid), "--duration", f"{seconds:.0f}", "--rate", str(RATE_HZ)]
        form = ["--format", "raw", "--full-filenames", "--nonblocking", "--output", str(stacks)]
        py_spy = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("py-spy"),
            "record",
            *options,
            *form,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, said = await py_spy.communicate()
        finally:
            if py_spy.returncode is None:
                py_spy.kill()
        if py_spy.returncode or not stacks.exists():
            reason = said.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise NotProfiled(f"py-spy cannot read the server ({' '.join(reason)}): run this as root, or allow ptrace")
        return by_owner(stacks.read_text("utf-8").splitlines())


def by_owner(lines: Iterable[str]) -> Counter[str]:
    """Samples by owner. A line is a stack, outermost first with semicolons between, and how often it was seen."""
    counted: Counter[str] = Counter(dict.fromkeys(_OWNERS, 0))
    for line in lines:
        stack, _, count = line.rpartition(" ")
        counted[owner(stack)] += int(count)
    return counted


def owner(stack: str) -> str:
    """Whose work one stack is."""
    for frame in reversed(stack.split(";")):
        found = _FRAME_FILE.search(frame)
        path = found[1] if found else ""
        for name, parts in _OWNERS.items():
            if any(part in path for part in parts):
                return name
    return REST
