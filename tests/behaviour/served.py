"""A speech server in a process of its own, as a platform runs it: told by signals, and seen only from outside."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import ClientConnection, connect

COMMAND = str(Path(sys.executable).with_name("speech-container"))
SESSION = "/invocations-bidirectional-stream"
READY_S = 60
ANSWER_S = 300
ENDINGS = {"synthesis_complete", "synthesis_cancelled", "error", "pong", "capabilities"}


@dataclass
class Answer:
    """What came for one message."""

    events: list[dict[str, Any]] = field(default_factory=list)
    audio: bytes = b""

    @property
    def end(self) -> dict[str, Any]:
        return self.events[-1]


class Listener:
    """One session."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, **fields: Any) -> None:
        await self.socket.send(json.dumps(fields))

    async def frame(self) -> dict[str, Any] | bytes:
        """A text frame as its object, a binary frame as it is."""
        frame = await asyncio.wait_for(self.socket.recv(), ANSWER_S)
        if isinstance(frame, bytes):
            return frame
        event: dict[str, Any] = json.loads(frame)
        return event

    async def first_audio(self) -> bytes:
        """The next audio frame; events before it are passed over."""
        while not isinstance(frame := await self.frame(), bytes):
            assert frame["type"] not in ENDINGS, frame
        return frame

    async def answer(self) -> Answer:
        """Everything up to the next event that ends an answer."""
        answer = Answer()
        audio = bytearray()
        while True:
            frame = await self.frame()
            if isinstance(frame, bytes):
                audio += frame
                continue
            answer.events.append(frame)
            if frame["type"] in ENDINGS:
                answer.audio = bytes(audio)
                return answer

    async def ask(self, **fields: Any) -> Answer:
        """One message and its answer."""
        await self.send(**fields)
        return await self.answer()


class Served:
    """A running server."""

    def __init__(self, url: str, process: asyncio.subprocess.Process, log: Path, http: httpx.AsyncClient) -> None:
        self.url = url
        self.process = process
        self.http = http
        self._log = log

    @asynccontextmanager
    async def session(self, **options: Any) -> AsyncIterator[Listener]:
        """A new session; `options` are websockets'."""
        url = self.url.replace("http", "ws", 1) + SESSION
        async with connect(url, max_size=None, compression=None, proxy=None, **options) as socket:
            yield Listener(socket)

    async def ping(self) -> int:
        """The status of /ping."""
        return (await self.http.get("/ping")).status_code

    async def metrics(self) -> dict[str, float]:
        """The samples of /metrics by name, those that differ in their labels added up."""
        found: dict[str, float] = {}
        for family in text_string_to_metric_families((await self.http.get("/metrics")).text):
            for sample in family.samples:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
        return found

    @property
    def resident_bytes(self) -> int:
        """The memory in RAM that is the server's."""
        resident: int = psutil.Process(self.process.pid).memory_info().rss
        return resident

    def faults(self) -> list[dict[str, Any]]:
        """The lines of the log that tell of a fault of the server's."""
        lines = [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]
        return [line for line in lines if line["level"] in {"error", "critical"}]


@asynccontextmanager
async def served(log: Path, engine: str, **settings: Any) -> AsyncIterator[Served]:
    """A server that is ready; `settings` as the README names them, in lower case and without SPEECH_."""
    environment = os.environ | {f"SPEECH_{name.upper()}": str(value) for name, value in settings.items()}
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(COMMAND, "serve", "--engine", engine, "--port", "0"),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=environment,
        )
    try:
        assert process.stdout is not None
        listening, ready = [await asyncio.wait_for(process.stdout.readline(), READY_S) for _ in range(2)]
        assert b"ready" in ready, f"the server was not ready; its log is {log}"
        url = listening.decode().split()[-1]
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=ANSWER_S) as http:
            yield Served(url, process, log, http)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
