"""docs/protocol.md does what it says: every message, event, exchange and program in it, against a real server."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from speech_protocol import (
    ErrorCode,
    SseDecoder,
    UnknownEvent,
    parse_event,
    parse_invocation,
    parse_message,
    render_event,
)
from websockets.asyncio.client import ClientConnection, connect

from tests.conftest import start

pytestmark = pytest.mark.slow
in_one_loop = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
SESSION = "/invocations-bidirectional-stream"


def blocks(kind: str) -> list[str]:
    """The contents of the fenced blocks of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


def lines(kind: str) -> list[str]:
    return [line for block in blocks(kind) for line in block.splitlines()]


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = re.findall(r"^\|.*\|$", section.split("\n\n| fixed")[0], re.MULTILINE)
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in table[2:]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with start(tmp_path_factory.mktemp("logs"), "tone", None) as stack:
        yield stack.speech.url


def test_every_kind_of_block_is_there_and_is_tested() -> None:
    kinds = set(re.findall(r"^```(.+)$", DOCUMENT, re.MULTILINE))
    assert kinds == {
        "session",
        "json client",
        "json server",
        "json http",
        "json sse",
        "json openai",
        "sh",
        "python",
        "js",
    }


@pytest.mark.parametrize("line", lines("json client"))
def test_every_message_is_one(line: str) -> None:
    parse_message(line)
    parse_message(line.encode())


@pytest.mark.parametrize("line", lines("json server"))
def test_every_event_is_one(line: str) -> None:
    event = parse_event(json.loads(line))
    assert not isinstance(event, UnknownEvent)
    assert json.loads(render_event(event)) == json.loads(line)


@in_one_loop
@pytest.mark.parametrize("line", lines("json http"))
async def test_every_body_is_served(line: str, url: str) -> None:
    parse_invocation(line.encode())
    status, body = await post(f"{url}/invocations", line)
    assert status == 200
    assert body


@in_one_loop
async def test_events_over_http_are_those_of_the_page(url: str) -> None:
    _, body = await post(f"{url}/invocations", '{"text": "Hello there.", "format": "pcm", "transport": "sse"}')
    assert shapes(SseDecoder().feed(body)) == shapes(map(json.loads, lines("json sse")))


@in_one_loop
async def test_openais_events_and_errors_are_those_of_the_page(url: str) -> None:
    *events, refused = map(json.loads, lines("json openai"))
    asked = {"model": "m", "voice": "alloy", "input": "Hello there.", "response_format": "pcm"}
    _, body = await post(f"{url}/v1/audio/speech", json.dumps(asked | {"stream_format": "sse"}))
    told = SseDecoder().feed(body)
    assert shapes(told) == shapes(events)
    assert told[-1] == events[-1]
    status, body = await post(f"{url}/v1/audio/speech", json.dumps(asked | {"speed": 4}))
    assert (status, json.loads(body)) == (400, refused)


@in_one_loop
@pytest.mark.parametrize("exchange", blocks("session"), ids=range(len(blocks("session"))))
async def test_every_exchange_happens(exchange: str, url: str) -> None:
    async with connect(url.replace("http", "ws", 1) + SESSION, max_size=None, proxy=None) as socket:
        reader = Reader(socket)
        for line in exchange.splitlines():
            mark, _, what = line.partition(" ")
            if mark == "→":
                await socket.send(what)
            elif what == "(audio)":
                assert isinstance(await reader.peek(), bytes)
                reader.audio_is_due = True
            else:
                assert mark == "←"
                assert likeness(await reader.event()) == likeness(json.loads(what))


@in_one_loop
@pytest.mark.parametrize("program", blocks("python"))
async def test_every_program_in_python_runs(program: str, url: str, tmp_path: Path) -> None:
    await run([sys.executable, "-c", at(program, url)], tmp_path)
    for name in re.findall(r'"(hello\.\w+)"', program):
        assert (tmp_path / name).stat().st_size > 1000


@in_one_loop
async def test_every_line_for_the_shell_runs(url: str, tmp_path: Path) -> None:
    for line in lines("sh"):
        printed = await run(["sh", "-c", at(line, url)], tmp_path)
        for name in re.findall(r"-o (\S+)", line):
            printed = (tmp_path / name).read_bytes()
        assert len(printed) > 1000, line


@in_one_loop
@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript needs Node")
@pytest.mark.parametrize("program", blocks("js"))
async def test_every_program_in_javascript_runs_or_at_least_parses(program: str, url: str, tmp_path: Path) -> None:
    file = tmp_path / "program.mjs"
    file.write_text(at(program, url), encoding="utf-8")
    if "new WebSocket" in program:  # for a browser: it plays what it gets
        await run(["node", "--check", str(file)], tmp_path)
    else:
        status, size = (await run(["node", str(file)], tmp_path)).split()
        assert status == b"200"
        assert int(size) > 1000


def test_every_code_is_in_the_table_of_errors() -> None:
    table = [(code, int(status), retryable == "yes") for code, status, retryable, _ in rows("Errors")]
    assert table == [(code.value, code.http_status, code.retryable) for code in ErrorCode]


@in_one_loop
async def test_the_limits_are_those_of_the_server(url: str) -> None:
    async with connect(url.replace("http", "ws", 1) + SESSION, proxy=None) as socket:
        await socket.send('{"type": "hello"}')
        capabilities = json.loads(await socket.recv())
    assert {name: float(default) for name, default, _ in rows("Limits")} == capabilities["limits"]
    (listed,) = re.findall(r"^\| `capabilities` \| (.*) \|$", DOCUMENT, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", listed)) == set(capabilities) - {"type"}


class Reader:
    """A socket's frames; audio is passed over where the page says that it comes, or goes on."""

    def __init__(self, socket: ClientConnection) -> None:
        self.audio_is_due = False
        self._socket = socket
        self._next: str | bytes | None = None

    async def peek(self) -> str | bytes:
        if self._next is None:
            self._next = await asyncio.wait_for(self._socket.recv(), 20)
        return self._next

    async def event(self) -> dict[str, Any]:
        while isinstance(frame := await self.peek(), bytes):
            assert self.audio_is_due, "audio that the page does not show"
            self._next = None
        self._next = None
        self.audio_is_due = False
        event: dict[str, Any] = json.loads(frame)
        return event


MEASURED = {"elapsed_s", "queue_s", "first_audio_s", "retry_after_s"}


def likeness(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what is measured anew each time."""
    return {name: "measured" if name in MEASURED else value for name, value in event.items()}


def shapes(events: Any) -> list[tuple[str, ...]]:
    """The fields of each kind of event, in the order of their first coming."""
    found = {event["type"]: (event["type"], *sorted(event)) for event in events}
    return list(found.values())


def at(program: str, url: str) -> str:
    """A program of the page, for the server of this test."""
    address = url.removeprefix("http://")
    return program.replace("127.0.0.1:8080", address).replace("localhost:8080", address)


async def post(url: str, body: str) -> tuple[int, bytes]:
    """Status and body."""
    command = ["curl", "-s", "-w", "\n%{http_code}", "-d", body, url]
    head, _, status = (await run(command, ROOT)).rpartition(b"\n")
    return int(status), head


async def run(command: list[str], directory: Path) -> bytes:
    """What a program that succeeds prints."""
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=directory, stdout=subprocess.PIPE, check=True, timeout=60
    )
    return done.stdout
