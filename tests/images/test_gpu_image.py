"""The `gpu` image: built as it is, and its server run on torch's CPU kernels, for there is no device here.

It is as hardened here as the `cpu` image: read-only, no rights, no network. To build it fetches 3 GB and takes 15 GB of
disk and minutes, so it has a verb of its own: `make test-image-gpu`. What the Dockerfile's other stages and a registry
tell is the same for both targets, and asked of the `cpu` image.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from kokoro_weights import prepare

from tests.damaged_weights import DAMAGES, damaged_copy
from tests.images.conftest import ARTEFACTS, Engine, Image, build
from tests.images.container import Container, running
from tests.images.sizes import SITE_PACKAGES, measure

pytestmark = [pytest.mark.images, pytest.mark.gpu_image, pytest.mark.weights]

LABEL: Final = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
ROOM: Final = (
    *("--memory", "6g"),  # torch's imports and the float32 model take more than the cpu image has
    *("--env", "SPEECH_THREADS=1", "--env", "SPEECH_MAX_WAIT_S=100"),
)
"""The CPU stands in for the device, and is slow at it: threads that wait for each other on a busy machine more so."""
MAX_BYTES: Final = 5_100_000_000
LINKED: Final = """
import ctypes, pathlib, sys
import torch
assert torch.version.cuda.startswith("13."), torch.version.cuda
for library in ("torch_cuda", "torch_cuda_linalg"):
    ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / f"lib{library}.so"))
for package in sorted(pathlib.Path(torch.__file__).parents[1].joinpath("nvidia", "cudnn", "lib").glob("*.so.*")):
    ctypes.CDLL(str(package))
print(torch.version.cuda)
"""
"""Loads what torch loads on a device, and with it everything that this is linked to."""


@pytest.fixture(scope="module")
def gpu_image(engine: Engine) -> Image:
    """The `gpu` target."""
    return build(engine, "kokoro-82m", "gpu")


@pytest.fixture(scope="module")
def weights() -> Path:
    return prepare("packages", safetensors=True).path


@pytest.fixture(scope="module")
def kokoro(gpu_image: Image, weights: Path) -> Iterator[Container]:
    with running(gpu_image, *ROOM, weights=weights) as container:
        started_s = container.ready()
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        (ARTEFACTS / "start-gpu.json").write_text(json.dumps({"start_to_ping_200_s": round(started_s, 2)}) + "\n")
        yield container


def test_it_says_what_it_is(gpu_image: Image) -> None:
    told = gpu_image.engine.inspect("image", gpu_image.name)
    config = told["Config"]
    environment = dict(line.split("=", 1) for line in config["Env"])
    assert (told["Architecture"], told["Os"]) == ("amd64", "linux")
    assert config["Labels"][LABEL] == "true"
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("10001:10001", ["speech-container"], ["serve"])
    assert (environment["SPEECH_ENGINE"], environment["SPEECH_WEIGHTS"]) == ("torch", "/opt/ml/model")
    assert environment["HF_HUB_OFFLINE"] == "1"


def test_it_is_as_small_as_it_was_and_its_parts_are_noted(gpu_image: Image) -> None:
    sizes = measure(gpu_image.engine, gpu_image.name)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    (ARTEFACTS / "sizes-gpu.json").write_text(json.dumps(sizes, indent=2) + "\n")
    assert sizes["total_bytes"] <= MAX_BYTES


def test_nothing_that_builds_is_left_inside(gpu_image: Image) -> None:
    unwanted = (
        *("/usr/bin/gcc", "/usr/bin/cc", "/usr/bin/strip", "/usr/bin/git", "/usr/local/bin/uv", "/usr/local/bin/pip"),
        *(f"{SITE_PACKAGES}/{name}" for name in ("pip", "triton", "openvino", "pytest", "torch/include")),
    )
    look = f"for path in {' '.join(unwanted)}; do ! test -e $path || echo $path; done"
    found = gpu_image.engine.run("run", "--rm", "--network", "none", "--entrypoint", "sh", gpu_image.name, "-c", look)
    assert found == ""


def test_what_was_taken_out_is_linked_to_by_nothing_that_runs_on_a_device(gpu_image: Image) -> None:
    found = gpu_image.engine.run(
        *("run", "--rm", "--network", "none", "--read-only", "--entrypoint", "python", gpu_image.name, "-c", LINKED)
    )
    assert found.startswith("13.")


def test_it_runs_as_nobody_in_particular_and_may_do_nothing(kokoro: Container) -> None:
    fields = kokoro.rights
    assert fields["Uid"].split() == ["10001"] * 4
    assert {int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert kokoro.writable == ["/tmp"]
    assert kokoro.engine.run("diff", kokoro.id) == ""


def test_torch_speaks_through_the_gateway_with_the_lengths_and_words_that_aws_published(kokoro: Container) -> None:
    done = kokoro.pytest("tests/contract/test_kokoro_speech.py", "-m", "weights")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "3 passed" in done.stdout
    assert kokoro.engine.run("diff", kokoro.id) == "", "neither torch nor its libraries leave anything behind"


def test_sigterm_lets_it_finish_what_it_says_and_end_with_0(kokoro: Container) -> None:
    complete, size = kokoro.stopped_while_speaking()
    assert (complete["type"], complete["request_id"]) == ("synthesis_complete", "long")
    assert size > 0
    assert (kokoro.state["ExitCode"], kokoro.state["OOMKilled"]) == (0, False)


def test_a_flipped_bit_of_the_safetensors_is_refused_by_name(gpu_image: Image, weights: Path, tmp_path: Path) -> None:
    damage = DAMAGES["a flipped bit of the safetensors"]
    with running(gpu_image, *ROOM, weights=damaged_copy(weights, damage, tmp_path / "weights")) as container:
        container.until(lambda: damage.code in container.log, 120)
        assert container.ping() == 503
        assert damage.file in container.log.splitlines()[-1]
