"""The `cpu` image as it runs: hardened, offline, on read-only weights; then the contract, a drain, and bad weights."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kokoro_weights import prepare
from websockets.asyncio.client import connect

from tests.images.conftest import ARTEFACTS, Image
from tests.images.container import Container, running

pytestmark = [pytest.mark.images, pytest.mark.weights]

SESSION = "ws://127.0.0.1:8080/invocations-bidirectional-stream"
WRITABLE = """
for folder in / /etc /home /opt/speech /opt/ml/model /usr/local /var /run /tmp; do
  if touch $folder/x 2>/dev/null; then echo $folder; rm $folder/x; fi
done
"""
LONG = "Hello there. This goes on for a while. It has several sentences. They are spoken one by one, and all are heard."


@pytest.fixture(scope="module")
def weights() -> Path:
    return prepare("packages", stages=True).path


@pytest.fixture(scope="module")
def kokoro(cpu_image: Image, weights: Path) -> Iterator[Container]:
    with running(cpu_image, weights=weights) as container:
        started_s = container.ready()
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        (ARTEFACTS / "start-cpu.json").write_text(json.dumps({"start_to_ping_200_s": round(started_s, 2)}) + "\n")
        yield container


def test_it_runs_as_nobody_in_particular_and_may_do_nothing(kokoro: Container) -> None:
    status = kokoro.engine.run("exec", kokoro.id, "cat", "/proc/1/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == ["10001"] * 4
    assert fields["Gid"].split() == ["10001"] * 4
    assert {int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert fields["NoNewPrivs"] == "1"


def test_the_command_is_the_first_process_so_that_signals_reach_it(kokoro: Container) -> None:
    command = kokoro.engine.run("exec", kokoro.id, "cat", "/proc/1/cmdline").split("\0")
    assert command[0].endswith("python")
    assert command[1:3] == ["/opt/speech/bin/speech-container", "serve"]


def test_nothing_in_it_can_be_written_to_but_tmp(kokoro: Container) -> None:
    assert kokoro.engine.run("exec", kokoro.id, "sh", "-c", WRITABLE).split() == ["/tmp"]
    assert kokoro.engine.run("diff", kokoro.id) == ""


def test_it_reaches_nobody(kokoro: Container) -> None:
    interfaces = kokoro.engine.run("exec", kokoro.id, "ls", "/sys/class/net")
    assert interfaces.split() == ["lo"]


def test_its_health_check_is_green(kokoro: Container) -> None:
    assert kokoro.engine.run("exec", kokoro.id, "python", "-m", "speech_container.health") == ""
    kokoro.until(lambda: kokoro.state["Health"]["Status"] == "healthy", 300)


def test_kokoro_speaks_through_the_gateway_with_the_lengths_and_words_that_aws_published(kokoro: Container) -> None:
    done = kokoro.pytest("tests/contract/test_kokoro_speech.py", "-m", "weights")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "3 passed" in done.stdout


def test_the_whole_protocol_is_what_its_document_says(cpu_image: Image) -> None:
    with running(cpu_image, "--env", "SPEECH_ENGINE=tone") as container:
        container.ready()
        done = container.pytest("tests/contract/test_protocol_document.py", "-m", "slow")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout


def test_sigterm_lets_it_finish_what_it_says_and_end_with_0(cpu_image: Image, weights: Path) -> None:
    with running(cpu_image, "--env", "SPEECH_LOOK_AHEAD_S=0.5", weights=weights) as container:
        container.ready()

        async def drained() -> tuple[dict[str, object], int]:
            size = 0
            async with connect(SESSION, max_size=None, proxy=None) as socket:
                await socket.send(json.dumps({"text": LONG, "request_id": "long"}))
                while not isinstance(await socket.recv(), bytes):
                    pass
                await asyncio.to_thread(container.engine.run, "kill", "--signal", "TERM", container.id)
                while isinstance(frame := await socket.recv(), bytes) or "synthesis_complete" not in frame:
                    size += len(frame) if isinstance(frame, bytes) else 0
                return json.loads(frame), size

        complete, size = container.inside(drained)
        container.until(lambda: not container.state["Running"], 200)
        state = container.state
    assert complete["request_id"] == "long"
    assert size > 200_000, "it went on speaking after the signal"
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)


def _swap(path: Path) -> None:
    other = path.with_name("am_adam.bin").read_bytes()
    path.unlink()
    path.write_bytes(other)


def _edit(path: Path) -> None:
    content = path.read_text()
    path.unlink()
    path.write_text(content.replace("Apache-2.0", "Apache-2.1", 1))


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a flipped bit": ("model.int8.onnx", _flip),
    "a swapped voice": ("voices/af_heart.bin", _swap),
    "an edited manifest": ("manifest.json", _edit),
    "no manifest": ("manifest.json", Path.unlink),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_bad_weights_are_refused_by_name(damage: str, cpu_image: Image, weights: Path, tmp_path: Path) -> None:
    copy = tmp_path / "weights"
    shutil.copytree(weights, copy, copy_function=os.link)
    file, break_it = DAMAGES[damage]
    break_it(copy / file)
    with running(cpu_image, weights=copy) as container:
        seen: set[int | None] = set()

        def ended() -> bool:
            if not container.state["Running"]:
                return True
            try:
                seen.add(container.ping())
            except FileNotFoundError:  # it ended meanwhile, and its network with it
                return True
            return False

        container.until(ended, 60)
        container.until(lambda: not container.state["Running"], 90)
        assert container.state["ExitCode"] == 1
        said = container.log
    assert seen <= {None, 503}, "never 200"
    assert file in said.splitlines()[-1]
