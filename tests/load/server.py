"""One real server process, and all that can be seen of it from outside: its log, its metrics, its memory.

The log has one line for each request that has ended, with its id. So what the server says that it did can be held
against what every single client saw.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

START_S: Final = 120.0
STOP_S: Final = 40.0  # draining takes 25 at most
_LINE_BYTES: Final = 1 << 20
_EXPECTED_WARNINGS: Final = ("the peer does not read", "Invalid HTTP request received", "the client does not read")
_PROBLEMS_KEPT: Final = 20


@dataclass(frozen=True, slots=True)
class Logged:
    """What the log says of one request."""

    face: str
    outcome: str
    code: str | None


@dataclass(slots=True)
class Log:
    """What a server has written so far."""

    requests: dict[str, list[Logged]] = field(default_factory=dict)
    """By request id."""
    nameless: list[Logged] = field(default_factory=list)
    """Malformed messages that had no id."""
    totals: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Requests by face and outcome."""
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Requests that ended in an error, by face and code."""
    warnings: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    """Lines that no server should have to write, whatever its clients do."""
    lines: int = 0

    def read(self, line: str) -> None:
        """One line of it."""
        self.lines += 1
        try:
            entry = json.loads(line)
        except ValueError:
            self._complain(line)  # a traceback, or a library that prints
            return
        message = entry.get("message", "")
        if entry.get("exception") or entry.get("level") in ("error", "critical"):
            self._complain(line)
        elif entry.get("level") == "warning":
            self.warnings[message] += 1
            if not message.startswith(_EXPECTED_WARNINGS):
                self._complain(line)
        elif message.startswith("request "):
            self._request(message.removeprefix("request "), entry)

    def _request(self, outcome: str, entry: Mapping[str, Any]) -> None:
        logged = Logged(entry["face"], outcome, entry["code"])
        self.totals[logged.face, outcome] += 1
        if logged.code is not None:
            self.errors[logged.face, logged.code] += 1
        if entry["request_id"] is None:
            self.nameless.append(logged)
        else:
            self.requests.setdefault(entry["request_id"], []).append(logged)

    def _complain(self, line: str) -> None:
        if len(self.problems) < _PROBLEMS_KEPT:
            self.problems.append(line[:2000])


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process holds."""

    resident_bytes: int
    threads: int
    descriptors: int


class LoadedServer:
    """`speech-container serve` in a process of its own. Use it as an async context manager."""

    def __init__(self, engine: str = "tone", settings: Mapping[str, object] | None = None) -> None:
        self.log = Log()
        self.url = ""
        self._command = [str(Path(sys.executable).parent / "speech-container"), "serve", "--engine", engine]
        self._command += ["--port", "0"]
        chosen = {f"SPEECH_{name.upper()}": str(value) for name, value in (settings or {}).items()}
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("SPEECH_")}
        self._environment |= {"PYTHONUNBUFFERED": "1", **chosen}
        self._process: asyncio.subprocess.Process | None = None
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdout=pipe, stderr=pipe, env=self._environment, limit=_LINE_BYTES
        )
        self._following = asyncio.create_task(self._follow(), name="server-log")
        try:
            async with asyncio.timeout(START_S):
                listening = re.search(r"http://\S+", await self._say())
                ready = await self._say()
        except BaseException:
            await self._end()
            raise
        if listening is None or "ready" not in ready:
            await self._end()
            raise RuntimeError(f"the server did not start: {self.log.problems}")
        self.url = listening[0]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self._end()

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The server's."""
        assert self._process is not None
        return self._process

    def footprint(self) -> Footprint:
        """What the server holds now."""
        process = psutil.Process(self.process.pid)
        with process.oneshot():
            return Footprint(process.memory_info().rss, process.num_threads(), process.num_fds())

    async def metrics(self) -> dict[str, dict[tuple[str, ...], float]]:
        """`/metrics`: for each sample's name, its values by the values of its labels, sorted by the labels' names."""
        async with httpx.AsyncClient(trust_env=False) as client:
            text = (await client.get(f"{self.url}/metrics", timeout=30)).text
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = tuple(value for _, value in sorted(sample.labels.items()))
                found.setdefault(sample.name, {})[labels] = sample.value
        return found

    async def stop(self) -> int:
        """Ask it to end, as a platform does. The exit code, once all of its log was read."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_S):
            code = await self.process.wait()
            assert self._following is not None
            await self._following
        return code

    async def _say(self) -> str:
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).decode()

    async def _follow(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log.read(line.decode("utf-8", "replace").rstrip())

    async def _end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        if self._following is not None:
            await self._following
