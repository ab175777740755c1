"""What the tests of the images share: a private engine with a base image made here, and the images, each built once.

The images are built by `speech-infra image build`, the way people build them, from the Dockerfile as it is. Artefacts
(sizes, SBOM, digests) are left in out/images.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from infra_common.base_image import BaseImage
from speech_infra.images import NOTE, PLATFORM

from tests.docker_engine import docker_engine
from tests.fake_aws.registry import Registry, running_registry
from tests.images.base_image import make_base

ROOT: Final = Path(__file__).parents[2]
ARTEFACTS: Final = ROOT / "out" / "images"
BASE_CACHE: Final = ROOT / ".cache" / "images" / "base.tar"
BUILD_S: Final = 900
WRAPPER: Final = """#!/bin/sh
if [ "$1" = build ]; then shift; set -- build --network host "$@"; fi
exec {docker} "$@"
"""
"""The engine has no bridge, so what a build fetches comes through this machine's own network."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine's command line."""

    environment: Mapping[str, str]
    program: str

    def run(self, *arguments: str, timeout_s: float = 120) -> str:
        """What it prints; where it fails, so does the test."""
        command = [self.program, *arguments]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr[-2000:]}"
        return done.stdout.strip()

    def inspect(self, kind: str, name: str) -> dict[str, Any]:
        """What it knows about an image or a container."""
        found: dict[str, Any] = json.loads(self.run(kind, "inspect", name))[0]
        return found


@dataclass(frozen=True, slots=True)
class Image:
    """One that was built."""

    name: str
    target: str
    engine: Engine


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """dockerd, with the Dockerfile's base image in it."""
    directory = tmp_path_factory.mktemp("engine")
    if not BASE_CACHE.is_file():
        BASE_CACHE.parent.mkdir(parents=True, exist_ok=True)
        make_base(BASE_CACHE)
    with docker_engine(directory) as found:
        wrapper = directory / "docker"
        wrapper.write_text(WRAPPER.format(docker=found["CDK_DOCKER"]))
        wrapper.chmod(0o755)
        environment = os.environ | found | {"CDK_DOCKER": str(wrapper)}
        client = Engine(environment, str(wrapper))
        path = "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        image = BaseImage.read(ROOT / NOTE).image
        client.run("import", "-c", path, "-c", 'CMD ["python3"]', str(BASE_CACHE), image, timeout_s=300)
        yield client
        running = client.run("ps", "--all", "--quiet").split()
        if running:
            client.run("rm", "--force", "--volumes", *running)
    # The engine leaves the mount of the host network's namespace; its images are gigabytes.
    subprocess.run(["umount", str(directory / "exec" / "netns" / "default")], capture_output=True, check=False)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def cpu_image(engine: Engine) -> Image:
    """The `cpu` target."""
    return build(engine, "kokoro-82m-cpu", "cpu")


@pytest.fixture(scope="session")
def agent_image(engine: Engine) -> Image:
    """The agent's, for this machine."""
    command = ("agent-infra", "image", "build", "--platform", PLATFORM)
    return Image(built(engine, *command), "agent", engine)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Debian's registry on loopback."""
    with running_registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


def build(engine: Engine, model: str, target: str) -> Image:
    """`speech-infra image build`."""
    return Image(built(engine, "speech-infra", "image", "build", model), target, engine)


def built(engine: Engine, program: str, *arguments: str) -> str:
    """The name of the image that a command has built."""
    command = [str(Path(sys.executable).with_name(program)), *arguments, "--json"]
    environment = {name: value for name, value in engine.environment.items() if not name.startswith("AWS_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return str(json.loads(done.stdout)["image"])
