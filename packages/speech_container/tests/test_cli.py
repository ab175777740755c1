"""The command, as a process."""

import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pytest
from kokoro_weights import prepare
from speech_container.server import bind

COMMAND = str(Path(sys.executable).parent / "speech-container")


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=90, env=os.environ | environment, check=False
    )


def complaint(finished: "subprocess.CompletedProcess[str]") -> str:
    """What a failed start tells people: its last line, and no traceback anywhere."""
    assert finished.returncode not in {0, -signal.SIGTERM}
    assert "Traceback" not in finished.stderr
    last = finished.stderr.strip().splitlines()[-1]
    assert last.startswith("speech-container: ")
    return last


@pytest.fixture
def tone_server() -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [COMMAND, "serve", "--engine", "tone", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield process
    process.kill()
    process.wait()


def line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def test_it_serves_until_sigterm_and_exits_with_0(tone_server: "subprocess.Popen[str]") -> None:
    listening = line(tone_server.stdout)
    assert listening.startswith("speech-container: listening on http://127.0.0.1:")
    assert line(tone_server.stdout).startswith("speech-container: ready (tone, 54 voices, ")
    with urllib.request.urlopen(listening.rpartition(" ")[2] + "/ping", timeout=20) as reply:
        assert reply.status == 200
    tone_server.send_signal(signal.SIGTERM)
    assert tone_server.wait(timeout=20) == 0


def test_a_port_in_use_is_one_line() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        finished = run("serve", "--engine", "tone", "--port", str(port))
    assert str(port) in complaint(finished)
    assert finished.stdout == ""


def test_a_bad_setting_is_one_line() -> None:
    assert "SPEECH_PORT" in complaint(run("serve", SPEECH_PORT="http"))
    assert "auto, openvino, onnx, torch, tone" in complaint(run("serve", "--engine", "cuda"))


def test_missing_weights_are_one_line(tmp_path: Path) -> None:
    assert "manifest.json" in complaint(run("serve", "--port", "0", "--weights", str(tmp_path / "nothing")))


@pytest.mark.skipif(find_spec("torch") is not None, reason="this installation has every engine")
def test_an_engine_that_is_not_there_is_one_line() -> None:
    said = complaint(run("serve", "--port", "0", "--engine", "torch"))
    assert "onnx and tone" in said
    assert "speech-container[torch]" in said


@pytest.mark.weights
def test_a_wrong_hash_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    weights = prepare("packages")
    copy = tmp_path / "weights"
    shutil.copytree(weights.path, copy, copy_function=os.link)
    voice = copy / "voices" / "am_adam.bin"
    content = bytearray(voice.read_bytes())
    content[1000] ^= 1
    voice.unlink()
    voice.write_bytes(content)
    finished = run("serve", "--port", "0", "--weights", str(copy))
    assert "voices/am_adam.bin" in complaint(finished)
    assert "ready" not in finished.stdout
