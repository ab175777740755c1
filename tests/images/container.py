"""A container as a careful platform runs it: nothing to write to, nothing allowed, no network but its own loopback."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.client import connect

from tests.images.conftest import ROOT, Engine, Image

URL: Final = "http://127.0.0.1:8080"
SESSION: Final = "ws://127.0.0.1:8080/invocations-bidirectional-stream"
READY_S: Final = 120
SPEAKING_S: Final = 120
ENDINGS: Final = {"synthesis_complete", "error"}
HARDENED: Final = (
    *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--network", "none", "--pids-limit", "256", "--memory", "2g"),
)


FOLDERS: Final = "/ /etc /home /opt/speech /opt/ml/model /usr/local /var /run /tmp"
WRITABLE: Final = f"""
for folder in {FOLDERS}; do
  if touch $folder/x 2>/dev/null; then echo $folder; rm $folder/x; fi
done
"""
LONG: Final = (
    "Hello there. This goes on for a while. It has several sentences. They are spoken one by one, and all are heard."
)


@dataclass(frozen=True, slots=True)
class Container:
    """One that was started. It has a network of its own with nothing in it but loopback, which `inside` enters."""

    id: str
    engine: Engine
    started_s: float

    @property
    def state(self) -> dict[str, Any]:
        """Running or not, its exit code, its health."""
        state: dict[str, Any] = self.engine.inspect("container", self.id)["State"]
        return state

    @property
    def log(self) -> str:
        """What it has said, on both of its streams."""
        done = subprocess.run(
            [self.engine.program, "logs", self.id],
            env=self.engine.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    @property
    def rights(self) -> dict[str, str]:
        """What the kernel says of its first process: /proc/1/status by field."""
        status = self.engine.run("exec", self.id, "cat", "/proc/1/status")
        return dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    @property
    def writable(self) -> list[str]:
        """The folders in which it may make a file."""
        return self.engine.run("exec", self.id, "sh", "-c", WRITABLE).split()

    def until(self, happened: Callable[[], bool], limit_s: float) -> float:
        """Seconds from its start until something is so; fails with its log where that takes too long."""
        while not happened():
            assert time.monotonic() < self.started_s + limit_s, f"not within {limit_s} s; it says: {self.log[-2000:]}"
            time.sleep(0.1)
        return time.monotonic() - self.started_s

    def ready(self) -> float:
        """Seconds from its start to /ping's first 200."""
        return self.until(lambda: self.ping() == 200 or self._fail_if_ended(), READY_S)

    def ping(self) -> int | None:
        """What /ping answers, or None where nobody does."""
        from speech_container.health import status

        return self.inside(lambda: _wrapped(status, "127.0.0.1", 8080))

    def inside[T](self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in a thread whose sockets are in the container's network."""
        answer: list[T] = []
        failed: list[BaseException] = []

        def enter() -> None:
            try:
                with Path(f"/proc/{self.state['Pid']}/ns/net").open("rb") as network:
                    os.setns(network.fileno(), os.CLONE_NEWNET)
                answer.append(asyncio.run(work()))
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                failed.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return answer[0]

    def stopped_while_speaking(self) -> tuple[dict[str, Any], int]:
        """SIGTERM once the first audio of `LONG` is there: the last event, and the bytes of audio after the signal."""

        async def listen() -> tuple[dict[str, Any], int]:
            size = 0
            async with asyncio.timeout(SPEAKING_S), connect(SESSION, max_size=None, proxy=None) as socket:
                await socket.send(json.dumps({"text": LONG, "request_id": "long"}))
                while not isinstance(frame := await socket.recv(), bytes):
                    assert json.loads(frame)["type"] != "error", frame
                await asyncio.to_thread(self.engine.run, "kill", "--signal", "TERM", self.id)
                while isinstance(frame := await socket.recv(), bytes) or json.loads(frame)["type"] not in ENDINGS:
                    size += len(frame) if isinstance(frame, bytes) else 0
                return json.loads(frame), size

        told = self.inside(listen)
        self.until(lambda: not self.state["Running"], 400)
        return told

    def pytest(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Tests of the contract against this server, in a process in its network."""
        command = [
            *("nsenter", f"--net=/proc/{self.state['Pid']}/ns/net"),
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments),
        ]
        environment = os.environ | {"VOICE_TEST_SPEECH_URL": URL}
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, check=False
        )

    def _fail_if_ended(self) -> bool:
        assert self.state["Running"], f"it ended: {self.log[-2000:]}"
        return False


@contextmanager
def running(image: Image, *options: str, weights: Path | None = None) -> Iterator[Container]:
    """Started as `docker run IMAGE serve`, which is how SageMaker does; removed when the context is left."""
    mounts = () if weights is None else ("--mount", f"type=bind,source={weights},target=/opt/ml/model,readonly")
    began_s = time.monotonic()
    found = image.engine.run("run", "--detach", *HARDENED, *mounts, *options, image.name, "serve")
    try:
        yield Container(found.splitlines()[-1], image.engine, began_s)
    finally:
        image.engine.run("rm", "--force", "--volumes", found.splitlines()[-1])


async def _wrapped[T](function: Callable[..., T], *arguments: Any) -> T:
    return function(*arguments)
