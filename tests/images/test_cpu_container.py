"""The `cpu` image as it runs: hardened, offline, on read-only weights; then the contract, a drain, and bad weights."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from kokoro_weights import prepare

from tests.damaged_weights import DAMAGES, damaged_copy
from tests.images.conftest import ARTEFACTS, Image
from tests.images.container import Container, running

pytestmark = [pytest.mark.images, pytest.mark.weights]

SESSION = "ws://127.0.0.1:8080/invocations-bidirectional-stream"
DAMAGES_SEEN: Final = (
    *("a flipped bit of the export", "a download that was cut off", "a swapped voice"),
    *("an edited manifest", "no manifest"),
)
"""The rest is in tests/behaviour; the safetensors are the gpu image's."""


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
    fields = kokoro.rights
    assert fields["Uid"].split() == ["10001"] * 4
    assert fields["Gid"].split() == ["10001"] * 4
    assert {int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert fields["NoNewPrivs"] == "1"


def test_the_command_is_the_first_process_so_that_signals_reach_it(kokoro: Container) -> None:
    command = kokoro.engine.run("exec", kokoro.id, "cat", "/proc/1/cmdline").split("\0")
    assert command[0].endswith("python")
    assert command[1:3] == ["/opt/speech/bin/speech-container", "serve"]


def test_nothing_in_it_can_be_written_to_but_tmp(kokoro: Container) -> None:
    assert kokoro.writable == ["/tmp"]
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


def test_the_smoke_test_of_a_deployment_passes_with_it_behind_the_gateway(kokoro: Container) -> None:
    done = kokoro.pytest(
        "tests/infrastructure/test_smoke_test.py", "-m", "infra", "-k", "three_sentences or writes_a_wav"
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "2 passed" in done.stdout


def test_the_whole_protocol_is_what_its_document_says(cpu_image: Image) -> None:
    with running(cpu_image, "--env", "SPEECH_ENGINE=tone") as container:
        container.ready()
        done = container.pytest("tests/contract/test_protocol_document.py", "-m", "slow")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout


def test_sigterm_lets_it_finish_what_it_says_and_end_with_0(cpu_image: Image, weights: Path) -> None:
    with running(cpu_image, "--env", "SPEECH_LOOK_AHEAD_S=0.5", weights=weights) as container:
        container.ready()
        complete, size = container.stopped_while_speaking()
        state = container.state
    assert (complete["type"], complete["request_id"]) == ("synthesis_complete", "long")
    assert size > 200_000, "it went on speaking after the signal"
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)


@pytest.mark.parametrize("name", DAMAGES_SEEN)
def test_bad_weights_are_refused_by_name(name: str, cpu_image: Image, weights: Path, tmp_path: Path) -> None:
    damage = DAMAGES[name]
    with running(cpu_image, weights=damaged_copy(weights, damage, tmp_path / "weights")) as container:
        container.until(lambda: f'"code": "{damage.code}"' in container.log, 60)
        assert container.ping() == 503
        assert container.state["Running"]
        assert damage.file in container.log.splitlines()[-1]
        container.engine.run("stop", container.id)
        assert container.state["ExitCode"] == 1
        assert damage.file in container.log.splitlines()[-1]
