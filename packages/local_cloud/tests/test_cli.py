"""The command as a process: how it ends, and what it prints where little can be printed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("voice-local")


@contextmanager
def serving(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`voice-local serve`, with temporary files in `tmp_path`; on leaving it has ended and said no more."""
    arguments = ["serve", "--engine", "tone", "--model", f"script:{tmp_path / 'answer.txt'}"]
    (tmp_path / "answer.txt").write_text("Hello.", encoding="utf-8")
    process = subprocess.Popen(
        [SCRIPT, *arguments],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        while (line := process.stderr.readline()) != "Serving until Ctrl-C.\n":
            assert line, "it ended before it served"
        yield process
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()  # where it has not ended: its tethers then end what it started
    assert error == ""
    assert not list(tmp_path.glob("voice-local-*"))


def test_a_closed_terminal_ends_it_in_order(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        process.send_signal(signal.SIGHUP)
    assert process.returncode == 130


def test_whoever_is_impatient_gets_no_traceback(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # three of one kind would be taken for one
            process.send_signal(number)
    assert process.returncode == 130


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_narrow_output_shows_what_it_can(tmp_path: Path, form: list[str]) -> None:
    (tmp_path / "answer.txt").write_text("Grüße 😀.", encoding="utf-8")
    arguments = ["ask", "Grüße 😀?", "--engine", "tone", "--mode", "bidi", "--model", "script:answer.txt", *form]
    result = subprocess.run(
        [SCRIPT, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (result.returncode, b"Traceback" in result.stderr) == (0, False), result.stderr
    if form:
        assert json.loads(result.stdout)["prompt"] == "Grüße 😀?"
    else:
        assert b"Gr??e ?" in result.stdout
