"""The agent's container as a careful platform runs it: nothing to write to, nothing allowed.

It has the machine's network, because what it talks to (Bedrock's plane, the gateway) is on this machine's loopback.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.fake_aws.ports import free_port
from tests.images.conftest import Engine, Image

READY_S: Final = 60
CA: Final = "/run/authority.pem"
HARDENED: Final = (
    *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--network", "host", "--pids-limit", "256", "--memory", "1g"),
)


@dataclass(frozen=True, slots=True)
class AgentContainer:
    """One that listens at `url`."""

    id: str
    url: str
    engine: Engine
    started_s: float

    @property
    def state(self) -> dict[str, Any]:
        """Running or not, its exit code."""
        state: dict[str, Any] = self.engine.inspect("container", self.id)["State"]
        return state

    @property
    def processes(self) -> str:
        """Command lines."""
        return self.engine.run("top", self.id, "-o", "pid,args")

    @property
    def log(self) -> str:
        """What it has said, on both of its streams."""
        done = subprocess.run(
            [self.engine.program, "logs", self.id],
            env=self.engine.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def ready(self) -> float:
        """Seconds from its start to /ping's first 200; fails with its log where it ends or takes too long."""
        deadline_s = time.monotonic() + READY_S
        while time.monotonic() < deadline_s and self.state["Running"]:
            try:
                if httpx.get(f"{self.url}/ping", trust_env=False, timeout=2).status_code == httpx.codes.OK:
                    return time.monotonic() - self.started_s
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError(f"the agent was not ready within {READY_S} s; it says: {self.log[-2000:]}")


@contextmanager
def running_agent(
    image: Image, environment: Mapping[str, str], *, authority: Path | None = None
) -> Iterator[AgentContainer]:
    """Started as `docker run IMAGE`; `authority`: whom it trusts. Removed when the context is left."""
    port = free_port()
    mount = () if authority is None else ("--mount", f"type=bind,source={authority},target={CA},readonly")
    given = {**environment, "AGENT_HOST": "127.0.0.1", "AGENT_PORT": str(port)}
    variables = [part for name, value in given.items() for part in ("--env", f"{name}={value}")]
    began_s = time.monotonic()
    found = image.engine.run("run", "--detach", *HARDENED, *mount, *variables, image.name).splitlines()[-1]
    try:
        yield AgentContainer(found, f"http://127.0.0.1:{port}", image.engine, began_s)
    finally:
        image.engine.run("rm", "--force", "--volumes", found)
