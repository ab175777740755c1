"""Child processes of the local stack: started, waited for until they listen, and ended, whatever happens.

A service says on standard output where it listens (`NAME: listening on http://127.0.0.1:PORT`); its standard error goes
to a log file, whose last line is the reason when it does not start. A tether (see there) ends it when this process
dies.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from local_cloud.environment import inherited
from local_cloud.errors import ServiceFailed
from local_cloud.tether import GRACE_S

LISTENING = re.compile(r"listening on (http://\S+)")
START_S = 60.0  # importing everything from a cold disk on two cores has taken 20 s
LOG_TAIL_BYTES = 8192


class RunningService:
    """One that somebody else started and will end: a container, say. `url` is where it listens."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url.rstrip("/")
        self.where_it_logs = "whoever started it has its log"

    async def wait(self) -> int:
        """It does not end, as far as can be seen from here."""
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        return await ended

    def last_log_line(self) -> str:
        """Nothing of its log is seen here."""
        return ""


class ServiceProcess:
    """One service in a process of its own. Use it as an async context manager; `url` is where it listens.

    Raises `ServiceFailed` from `__aenter__` when the service ends, or stays silent for `start_s`, instead of listening.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        log_file: Path,
        start_s: float = START_S,
    ) -> None:
        self.name = name
        self.url = ""
        self.log_file = log_file
        self.where_it_logs = f"its log is {log_file}"
        self._command = command
        self._environment = {**inherited(os.environ), "PYTHONUNBUFFERED": "1", **environment}
        self._start_s = start_s
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Of the tether, whose only child is the service."""
        return self._running().pid

    async def __aenter__(self) -> Self:
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "local_cloud.tether",
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # an interrupt at the terminal is for us alone; we then end it in order
            )
        try:
            async with asyncio.timeout(self._start_s):
                self.url = await self._listening()
        except TimeoutError as error:
            await self._stop()
            raise ServiceFailed(
                f"{self.name} did not listen within {self._start_s:g} s; {self.where_it_logs}"
            ) from error
        except BaseException:
            await self._stop()
            raise
        self._drain = asyncio.create_task(self._drain_output())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def wait(self) -> int:
        """The exit code, once the service has ended by itself."""
        return await self._running().wait()

    def last_log_line(self) -> str:
        """What the service said last on standard error, or an empty string."""
        with self.log_file.open("rb") as log:
            log.seek(max(0, self.log_file.stat().st_size - LOG_TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix(f"{self.name}: ") if lines else ""

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started: enter it as a context manager first")
        return self._process

    async def _listening(self) -> str:
        process = self._running()
        assert process.stdout is not None  # noqa: S101 - asked for above
        while line := await process.stdout.readline():
            if match := LISTENING.search(line.decode("utf-8", "replace")):
                return match[1]
        code = await process.wait()
        reason = self.last_log_line() or f"it ended with exit code {code}"
        raise ServiceFailed(f"{self.name} did not start: {reason}")

    async def _drain_output(self) -> None:
        """A full pipe would stop the service; what it says after the first line is for nobody."""
        process = self._running()
        assert process.stdout is not None  # noqa: S101 - asked for above
        while await process.stdout.read(65536):
            pass

    async def _stop(self) -> None:
        process = self._running()
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(GRACE_S + 2):
                    await process.wait()
            except BaseException:  # also when we are cancelled while we wait: nobody may be left behind
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
                raise
        if process.stdin is not None:
            process.stdin.close()
        if self._drain is not None:
            await self._drain
