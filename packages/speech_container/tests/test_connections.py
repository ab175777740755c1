"""Peers that do not do their part, on real sockets: their connections end, and nobody is told of a failure of ours."""

import asyncio
import contextlib
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest

HANDSHAKE = (
    b"GET /invocations-bidirectional-stream HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)
POST = b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n"
TEXT, BINARY, CLOSE, PING, PONG, REST = 0x1, 0x2, 0x8, 0x9, 0xA, 0x0


class Line:
    """A TCP connection on which a test says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, data: bytes) -> None:
        """As much as the kernel takes, and the rest when it does."""
        self.writer.write(data)

    async def upgrade(self) -> None:
        """A session."""
        self.say(HANDSHAKE + b"\r\n")
        assert (await self.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")

    async def until(self, mark: bytes) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(mark), 20)

    async def rest(self) -> bytes:
        """All that comes until the server ends the connection, also by a reset for what was said after that."""
        told = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := await asyncio.wait_for(self.reader.read(1024), 20):
                told += piece
        return told

    async def frame(self) -> tuple[int, bytes]:
        """One frame of the server's: what it is, and what is in it."""
        first, size = await asyncio.wait_for(self.reader.readexactly(2), 20)
        if size == 126:
            (size,) = struct.unpack(">H", await self.reader.readexactly(2))
        return first & 0x0F, await self.reader.readexactly(size)


@contextlib.asynccontextmanager
async def line(running: Any, buffer_bytes: int | None = None) -> AsyncIterator[Line]:
    """`buffer_bytes`: what the kernel takes for a client that does not read."""
    host, _, port = running.url.removeprefix("http://").rpartition(":")
    raw = socket.socket()
    raw.setblocking(False)
    if buffer_bytes is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    await asyncio.get_running_loop().sock_connect(raw, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=raw, limit=1024 if buffer_bytes else 1 << 20)
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()


def frame(kind: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """A client's frame, masked with zeros."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
    return bytes([(0x80 if final else 0) | kind]) + size + bytes(4) + payload


async def none_left(running: Any) -> None:
    """Wait until the server has nothing left of anybody but of a session of ours, whose pings are turns of its loop."""
    async with running.session() as ours:
        connections, telemetry = running.server.server_state.connections, running.service.telemetry
        while len(connections) > 1 or telemetry.sessions > 1 or running.service.running:
            await ours.ask(type="ping")


def faults(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


HALVES = {
    "nothing": b"",
    "half a line": b"POST /invo",
    "half a head": b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Le",
    "half a handshake": HANDSHAKE,
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
async def test_the_rest_of_a_request_is_not_waited_for_for_ever(start: Any, half: bytes) -> None:
    running = await start(send_timeout_s=0.2)
    async with line(running) as client:
        client.say(half)
        answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 408") if half else not answer


async def test_a_head_that_comes_byte_by_byte_is_not_waited_for_either(start: Any) -> None:
    running = await start(send_timeout_s=0.3)
    async with line(running) as client:
        client.say(b"GET /ping HTTP/1.1\r\nX: ")
        answer = asyncio.create_task(client.rest())
        while not answer.done():
            client.say(b"y")
            await asyncio.wait({answer}, timeout=0.02)
    assert answer.result().startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "half",
    [
        POST % 100 + b'{"text": "Hel',
        b'POST /v1/audio/speech HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"input":\r\n',
    ],
    ids=["sized", "chunked"],
)
async def test_a_body_that_never_ends_is_refused_in_words(start: Any, half: bytes) -> None:
    running = await start(send_timeout_s=0.2)
    async with line(running) as client:
        client.say(half)
        head, _, body = (await client.rest()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408")
    assert json.loads(body)["error"]["code"] == "request_stale"
    await none_left(running)


async def test_half_a_second_request_ends_a_connection_that_was_of_use(start: Any) -> None:
    running = await start(send_timeout_s=0.3)
    async with line(running) as client:
        client.say(b"GET /ping HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await client.until(b"ready")).startswith(b"HTTP/1.1 200")
        client.say(b"GET /pi")
        assert (await client.rest()).endswith(b"Request Timeout")


async def test_a_client_that_asks_and_reads_nothing_is_hung_up_on(start: Any, caplog: pytest.LogCaptureFixture) -> None:
    running = await start(send_timeout_s=0.3)
    body = json.dumps({"text": "Hello there. " * 50, "stream": False}).encode()
    async with line(running, buffer_bytes=4096) as client:
        client.say((POST % len(body) + body) * 30 + b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n" * 30)
        await running.engine.busy()
        await none_left(running)
    assert faults(caplog) == []


async def test_hanging_up_ends_the_request_in_hand_also_with_others_behind_it(start: Any) -> None:
    running = await start()
    running.engine.hold()
    body = json.dumps({"text": "One. Two. Three."}).encode()
    async with line(running) as client:
        client.say((POST % len(body) + body) * 2)
        await running.engine.busy()
    await none_left(running)
    running.engine.release()
    assert (await running.invoke(text="Me.")).status == 200
    assert len(running.engine.batches) == 2, "the line in hand, and the next client's"


async def test_an_answer_that_is_cut_off_is_no_fault_of_the_server(
    start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    caplog.set_level(logging.ERROR, "uvicorn.error")
    reply = await running.invoke(text="Hello there. Fizz.")
    assert not reply.is_whole
    assert [record for record in caplog.records if record.name == "uvicorn.error"] == []


NO_HANDSHAKES = {
    "too many fields": b"".join(b"X-%d: y\r\n" % number for number in range(200)),
    "too long": b"X: " + b"y" * 20_000 + b"\r\n",
    "with a body": b"Content-Length: 5\r\n",
    "twice": b"Sec-WebSocket-Version: 12\r\n",
}


@pytest.mark.parametrize("more", NO_HANDSHAKES.values(), ids=NO_HANDSHAKES)
async def test_a_handshake_that_is_none_is_answered(start: Any, more: bytes, caplog: pytest.LogCaptureFixture) -> None:
    running = await start()
    async with line(running) as client:
        client.say(HANDSHAKE + more + b"\r\n")
        answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 4")
    assert faults(caplog) == []


async def test_text_that_is_not_utf_8_ends_its_session_and_is_the_peers_fault(
    start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    running = await start()
    async with line(running) as client:
        await client.upgrade()
        client.say(frame(TEXT, b'{"text": "\xff"}'))
        assert await client.frame() == (CLOSE, struct.pack(">H", 1007) + b"text that is not UTF-8")
        assert await client.rest() == b""
    await none_left(running)
    assert faults(caplog) == []


async def test_a_session_that_nobody_reads_leaves_no_connection_behind(start: Any) -> None:
    running = await start(send_timeout_s=0.3)
    async with line(running, buffer_bytes=4096) as client:
        await client.upgrade()
        client.say(frame(TEXT, b'{"type": "hello"}') * 2000)
        await none_left(running)


async def test_pongs_that_nobody_reads_are_not_kept(start: Any) -> None:
    running = await start()
    async with line(running, buffer_bytes=4096) as client:
        await client.upgrade()
        for number in range(20_000):
            client.say(frame(PING, f"{number:0100}".encode()))
        async with running.session() as other:
            while client.writer.transport.get_write_buffer_size():
                await other.ask(type="ping")
        pongs = 1
        while await client.frame() != (PONG, f"{19_999:0100}".encode()):
            pongs += 1
    assert pongs < 15_000, "of 20,000: what was on its way, and the latest"


async def test_empty_fragments_are_not_kept(start: Any) -> None:
    running = await start()
    async with line(running) as client:
        await client.upgrade()
        (connection,) = running.server.server_state.connections
        client.say(frame(TEXT, b'{"type": ', final=False) + frame(REST, final=False) * 5000 + frame(PING))
        assert await client.frame() == (PONG, b"")
        assert len(connection.frames) == 1
        client.say(frame(REST, b'"ping"}'))
        assert await client.frame() == (TEXT, b'{"type": "pong"}')
