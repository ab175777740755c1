"""A Docker engine of the tests' own. Where none can be started the test fails and says why; no image is skipped."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

ENGINE_S: Final = 60


@contextmanager
def docker_engine(directory: Path) -> Iterator[dict[str, str]]:
    """dockerd with a data root and a socket of its own, without a bridge or firewall rules; ended by its id."""
    program = shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/sbin")
    if program is None or os.geteuid() != 0:
        pytest.fail("these tests need root and Docker's engine: apt-get install docker.io")
    socket = f"unix://{directory}/docker.sock"
    client = shutil.which("docker", path="/usr/bin") or "docker"  # the engine's own, where there are several
    environment = {"DOCKER_HOST": socket, "DOCKER_CONFIG": str(directory / "config"), "CDK_DOCKER": client}
    command = [
        program, "--data-root", f"{directory}/data", "--exec-root", f"{directory}/exec", "--pidfile",
        f"{directory}/docker.pid", "-H", socket, "--iptables=false", "--ip6tables=false", "--ip-forward=false",
        "--bridge=none",
    ]  # fmt: skip
    with (directory / "dockerd.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _until_it_answers(process, os.environ | environment, directory / "dockerd.log")
        yield environment
    finally:
        process.terminate()
        process.wait(30)
        # It leaves the mount of the host network's namespace, with which its folder could not be deleted.
        subprocess.run(["umount", f"{directory}/exec/netns/default"], capture_output=True, check=False)


def _until_it_answers(process: "subprocess.Popen[bytes]", environment: dict[str, str], log: Path) -> None:
    deadline = time.monotonic() + ENGINE_S
    while time.monotonic() < deadline and process.poll() is None:
        asked = subprocess.run(
            [environment["CDK_DOCKER"], "version"], env=environment, capture_output=True, check=False
        )
        if asked.returncode == 0:
            return
        time.sleep(0.2)
    pytest.fail(f"dockerd did not start: {log.read_text()[-1500:]}")
