"""Clients that send their requests slowly, or not at all."""

import asyncio
import json
from typing import Any

import pytest

HEAD = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"


async def opened(running: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = running.url.removeprefix("http://").rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """What the server sends before it closes."""
    return await asyncio.wait_for(reader.read(), 20)


@pytest.mark.parametrize("begun", [b"", b"\r\n\r\n", b"GET /pi", HEAD], ids=["nothing", "lines", "a path", "headers"])
async def test_a_head_that_does_not_come_ends_the_connection_and_nothing_else(start: Any, begun: bytes) -> None:
    running = await start(send_timeout_s=0.5)
    async with running.session() as socket:
        reader, writer = await opened(running)
        writer.write(begun)
        assert await until_closed(reader) == b""
        writer.close()
        assert (await socket.ask(text="Still here.")).end["type"] == "synthesis_complete"


async def test_a_head_that_does_not_come_ends_a_connection_that_was_served_before(start: Any) -> None:
    running = await start(send_timeout_s=0.5)
    reader, writer = await opened(running)
    writer.write(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\r\n")
    assert await until_closed(reader) == b'{"status":"ready"}'
    writer.close()


async def test_a_body_that_does_not_come_is_a_timeout(start: Any) -> None:
    running = await start(send_timeout_s=0.5)
    reader, writer = await opened(running)
    writer.write(HEAD + b"\r\n" + b'{"text": "Hel')
    head, _, body = (await until_closed(reader)).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"\r\nconnection: close" in head
    assert json.loads(body)["error"]["code"] == "request_stale"
    assert running.service.telemetry.sessions == 0
    assert (
        b'speech_errors_total{code="request_stale",face="invocations"} 1.0'
        in (await running.http("GET", "/metrics")).body
    )


async def test_the_time_for_the_head_does_not_run_while_a_request_is_answered(start: Any) -> None:
    running = await start(send_timeout_s=0.5)
    reader, writer = await opened(running)
    running.engine.hold()
    body = json.dumps({"text": "Hello.", "stream": False}).encode()
    writer.write(HEAD.replace(b"100", str(len(body)).encode()) + b"\r\n" + body)
    await running.engine.busy()
    silent, other = await opened(running)
    assert await until_closed(silent) == b"", "the time is over for one that came later"
    other.close()
    running.engine.release()
    assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
    writer.close()
