"""What the tests of deployments share: an account, an engine of containers, and the command as a person runs it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docker_engine import docker_engine
from tests.fake_aws.harness import ROOT, FakeAws, fake_aws

COMMAND_S: Final = 300


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on standard output."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs a command at one account."""

    aws: FakeAws
    environment: dict[str, str]
    program: str = "speech-infra"

    def run(self, *arguments: str, code: int = 0, **more: str) -> Done:
        """Run it and hold it to its exit code."""
        done = self.start(*arguments, **more)
        out, err = done.communicate(timeout=COMMAND_S)
        assert done.returncode == code, (
            f"{self.program} {' '.join(arguments)} ended with {done.returncode}\n{out}\n{err}"
        )
        assert "Traceback" not in err
        return Done(done.returncode, out, err)

    def start(self, *arguments: str, **more: str) -> "subprocess.Popen[str]":
        """Start it."""
        return subprocess.Popen(
            [Path(sys.executable).with_name(self.program), *arguments],
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeAws]:
    """One account a module."""
    with fake_aws(tmp_path_factory.mktemp("aws")) as aws:
        yield aws


@pytest.fixture
def aws(running: FakeAws) -> FakeAws:
    """The account, new again."""
    running.reset()
    return running


@pytest.fixture
def shell(aws: FakeAws) -> Shell:
    """The command at a bootstrapped account, without a container engine."""
    aws.bootstrap()
    return Shell(aws, aws.environment(CDK_DOCKER="no-such-engine"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A private Docker engine; what a child needs to use it. Where none can be started, the test fails."""
    with docker_engine(tmp_path_factory.mktemp("engine")) as environment:
        yield environment


@contextmanager
def data_plane(endpoint: str, engine: str, directory: Path) -> Iterator[dict[str, str]]:
    """The real container behind a gateway with the endpoint's name; what a child needs to speak to it."""
    with _serving(
        "tests.infrastructure.gateway", endpoint, engine, str(directory), log=directory / "gateway.log"
    ) as told:
        yield {"SPEECH_ENDPOINT_URI": told["url"], "SPEECH_CA_FILE": told["ca"]}


@contextmanager
def agent_plane(arn: str, directory: Path) -> Iterator[dict[str, str]]:
    """The real agent behind the ARN of a deployed runtime; what a child needs to call it."""
    with _serving("tests.infrastructure.agent_plane", arn, str(directory), log=directory / "agent_plane.log") as told:
        yield {"AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": told["url"]}


@contextmanager
def _serving(module: str, *arguments: str, log: Path) -> Iterator[dict[str, str]]:
    """A module as a process whose first line of output is JSON; ended by its id."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, log.read_text()[-2000:]
        yield json.loads(line)
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@pytest.fixture
def arm_engine(engine: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The engine as one that can emulate arm64: what a build puts together from scratch needs no emulation."""
    wrapper = tmp_path / "docker-arm"
    wrapper.write_text(
        "#!/bin/sh\n"
        'if [ "$1 $2" = "buildx inspect" ]; then echo "Platforms: linux/amd64, linux/arm64"; exit 0; fi\n'
        f'exec {engine["CDK_DOCKER"]} "$@"\n'
    )
    wrapper.chmod(0o755)
    return engine | {"CDK_DOCKER": str(wrapper)}
