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

SCRIPT: Final = Path(sys.executable).with_name("speech-infra")
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
    """Runs the command at one account."""

    aws: FakeAws
    environment: dict[str, str]

    def run(self, *arguments: str, code: int = 0, **more: str) -> Done:
        """Run it and hold it to its exit code."""
        done = self.start(*arguments, **more)
        out, err = done.communicate(timeout=COMMAND_S)
        assert done.returncode == code, f"speech-infra {' '.join(arguments)} ended with {done.returncode}\n{out}\n{err}"
        assert "Traceback" not in err
        return Done(done.returncode, out, err)

    def start(self, *arguments: str, **more: str) -> "subprocess.Popen[str]":
        """Start it."""
        return subprocess.Popen(
            [SCRIPT, *arguments],
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
    command = [sys.executable, "-m", "tests.infrastructure.gateway", endpoint, engine, str(directory)]
    with (directory / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (directory / "gateway.log").read_text()[-2000:]
        told = json.loads(line)
        yield {"SPEECH_ENDPOINT_URI": told["url"], "SPEECH_CA_FILE": told["ca"]}
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
