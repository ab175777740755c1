"""Servers as processes of their own, up and warm, as a benchmark needs them."""

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import psutil
from local_cloud.errors import ServiceFailed
from local_cloud.processes import ServiceProcess

READY_S: Final = 180.0
_POLL_S: Final = 0.1
_STEPS_S: Final = re.compile(r"^speech_synthesis_seconds_sum\S* (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Server:
    """One that answers `/ping` with 200."""

    url: str
    process: psutil.Process

    @property
    def session_url(self) -> str:
        """Where its WebSocket sessions are."""
        return self.url.replace("http", "ws", 1)

    @property
    def cpu_s(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


def speech_container(engine: str) -> list[str]:
    """The command of our server on a free port."""
    script = str(Path(sys.executable).with_name("speech-container"))
    return [script, "serve", "--engine", engine, "--port", "0"]


async def engine_s(url: str) -> float:
    """How many seconds a server's engine has worked so far, by the server's own metrics."""
    async with httpx.AsyncClient(trust_env=False) as client:
        found = _STEPS_S.search((await client.get(f"{url}/metrics")).text)
    if found is None:
        raise SystemExit(f"{url}/metrics has no speech_synthesis_seconds_sum")
    return float(found[1])


@asynccontextmanager
async def running(command: Sequence[str], environment: Mapping[str, str] | None = None) -> AsyncIterator[Server]:
    """Start `command`, which says where it listens, and end it afterwards. Raises `ServiceFailed`."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory:
        log_file = Path(directory) / "server.log"
        async with ServiceProcess("server", command, environment=environment or {}, log_file=log_file) as service:
            await ready(service)
            (process,) = psutil.Process(service.pid).children()
            yield Server(service.url, process)


async def ready(service: ServiceProcess) -> None:
    """Until `/ping` answers 200. Raises `ServiceFailed` where that takes longer than `READY_S`."""
    try:
        async with asyncio.timeout(READY_S), httpx.AsyncClient(trust_env=False, timeout=5) as client:
            while True:
                if (await client.get(f"{service.url}/ping")).status_code == httpx.codes.OK:
                    return
                await asyncio.sleep(_POLL_S)
    except (TimeoutError, httpx.TransportError) as error:
        raise ServiceFailed(f"the server did not get ready: {service.last_log_line() or 'its log is empty'}") from error
