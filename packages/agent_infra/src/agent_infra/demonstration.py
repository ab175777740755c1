"""`demo`: the tables and the picture of `voice-local ask`, of the deployed agent or of the local one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_cloud.ask import Result


def show_result(result: Result, paths: Sequence[Path]) -> None:
    """Question, answer, each sentence's times, both modes beside each other."""
    from local_cloud.console import Console

    console = Console()
    shown = result.last(result.question.modes[0])
    console.line(f"\nQuestion  {result.question.prompt}", "bold")
    console.line(f"Answer    {' '.join(shown.text.split())}")
    console.sentences(shown)
    console.comparison(result.comparison)
    console.line("Wrote " + ", ".join(str(path) for path in paths))


def local_demo(prompt: str, runs: int, voice: str, out: Path, *, as_json: bool) -> int:
    """The same by `voice-local`, with everything on this machine; its exit code."""
    program = Path(sys.executable).with_name("voice-local")
    options = ["--runs", str(runs), "--voice", voice, "--out", str(out), *(["--json"] if as_json else [])]
    command = [str(program), "ask", *options, "--", prompt]  # after "--" no prompt is taken for an option
    return subprocess.run(command, check=False).returncode  # noqa: S603 - a list, no shell, and the program is ours
