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


STOPPED_AT_IMPORT = """
import os
import sys
from importlib.metadata import entry_points

module, number = sys.argv.pop(), int(sys.argv.pop())


class Stopping:
    def find_spec(self, name, path, target=None):
        if name == module:
            os.kill(os.getpid(), number)


(script,) = entry_points(group="console_scripts", name="speech-container")
main = script.load()
sys.meta_path.insert(0, Stopping())
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("module", ["typer", "speech_container.server", "uvicorn.protocols.http.httptools_impl"])
def test_a_signal_while_python_imports_the_server_ends_it_with_0(module: str, number: int) -> None:
    serve = ["serve", "--engine", "tone", "--port", "0"]
    finished = subprocess.run(
        [sys.executable, "-c", STOPPED_AT_IMPORT, *serve, str(int(number)), module],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


@pytest.mark.weights
@pytest.mark.slow
def test_sigterm_while_the_voices_are_loaded_ends_it_with_0() -> None:
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    listening = line(process.stdout)
    process.send_signal(signal.SIGTERM)
    said, complained = process.communicate(timeout=60)
    assert "listening" in listening
    assert (process.returncode, said, complained) == (0, "", "")


def test_a_port_in_use_is_one_line() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        finished = run("serve", "--engine", "tone", "--port", str(port))
    assert str(port) in complaint(finished)
    assert finished.stdout == ""


def test_a_bad_setting_is_one_line() -> None:
    assert "SPEECH_PORT" in complaint(run("serve", SPEECH_PORT="http"))
    assert "auto, openvino, onnx, torch, torch-graphs, tone" in complaint(run("serve", "--engine", "cuda"))


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
