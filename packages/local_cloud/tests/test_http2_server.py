import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import h2.errors
import h2.events
import pytest
from local_cloud.certificates import Certificates
from local_cloud.errors import CallerGone
from local_cloud.http2_server import MAX_STREAMS, STREAM_WINDOW_BYTES, Http2Server, Http2Stream
from local_cloud.loopback import HOST, bind_loopback, port_of
from local_cloud.signatures import Credentials

from packages.local_cloud.tests.conftest import soon
from packages.local_cloud.tests.raw_caller import RawCaller


@pytest.fixture
def serving(certificates: Certificates, credentials: Credentials) -> Callable[..., object]:
    """Serves a handler and connects a caller to it."""

    @asynccontextmanager
    async def serve(handler: Callable[[Http2Stream], Awaitable[None]]) -> AsyncIterator[RawCaller]:
        sock = bind_loopback(0, "a test")
        url = f"https://{HOST}:{port_of(sock)}"
        server = Http2Server(handler, sock, certificates.server_context())
        async with server, RawCaller(url, certificates, credentials) as caller:
            yield caller

    return serve


async def test_a_request_is_read_and_answered(serving: Callable[..., Any]) -> None:
    async def echo(stream: Http2Stream) -> None:
        await stream.send_headers(200, [("x-path", dict(stream.headers)[":path"])])
        while (received := await stream.receive()) is not None:
            await stream.send_data(received.data)
            stream.acknowledge(received.credit_bytes)
        await stream.end()

    async with serving(echo) as caller:
        stream_id = await caller.open("name", sign=False)
        await caller.send(stream_id, b"hello", end=True)
        status, headers = await caller.status(stream_id)
        await caller.wait_for(h2.events.StreamEnded, stream_id)
    assert (status, headers["x-path"]) == (200, "/endpoints/name/invocations-bidirectional-stream")
    assert caller.body(stream_id) == b"hello"


async def test_streams_that_leave_their_input_unread_do_not_eat_the_connections_credit(
    serving: Callable[..., Any],
) -> None:
    async def ignore(stream: Http2Stream) -> None:
        while stream.received_bytes < STREAM_WINDOW_BYTES:
            await stream.receive()
        await stream.send_headers(204, [])
        await stream.end()

    async with serving(ignore) as caller:
        await caller.round_trip()
        for _ in range(MAX_STREAMS + 2):
            stream_id = await caller.open(sign=False)
            await caller.send(stream_id, bytes(STREAM_WINDOW_BYTES))
            await caller.wait_for(h2.events.StreamReset, stream_id)


async def test_an_answer_that_ends_early_tells_the_caller_to_stop(serving: Callable[..., Any]) -> None:
    async def refuse(stream: Http2Stream) -> None:
        await stream.send_headers(400, [])
        await stream.end()

    async with serving(refuse) as caller:
        stream_id = await caller.open(sign=False)
        await caller.wait_for(h2.events.StreamEnded, stream_id)
        reset = await caller.wait_for(h2.events.StreamReset, stream_id)
        assert reset.error_code == h2.errors.ErrorCodes.NO_ERROR


async def test_a_handler_that_fails_resets_its_stream_alone(
    serving: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def fail_once(stream: Http2Stream) -> None:
        if stream.stream_id == 1:
            raise RuntimeError("a bug")
        await stream.send_headers(204, [])
        await stream.end()

    async with serving(fail_once) as caller:
        first, second = await caller.open(sign=False), await caller.open(sign=False)
        reset = await caller.wait_for(h2.events.StreamReset, first)
        assert reset.error_code == h2.errors.ErrorCodes.INTERNAL_ERROR
        assert (await caller.status(second))[0] == 204
    assert "the handler of an HTTP/2 stream failed" in caplog.text


async def test_a_reset_cancels_the_handler_and_every_call_says_that_the_caller_is_gone(
    serving: Callable[..., Any],
) -> None:
    streams: asyncio.Queue[Http2Stream] = asyncio.Queue()
    cancelled = asyncio.Event()

    async def wait(stream: Http2Stream) -> None:
        streams.put_nowait(stream)
        try:
            await stream.receive()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with serving(wait) as caller:
        stream_id = await caller.open(sign=False)
        stream = await soon(streams.get())
        caller.h2.reset_stream(stream_id)
        await caller.flush()
        await soon(cancelled.wait())
        for call in (stream.receive(), stream.send_headers(200, []), stream.send_data(b"x"), stream.end()):
            with pytest.raises(CallerGone):
                await call


async def test_data_waits_for_the_callers_credit(serving: Callable[..., Any]) -> None:
    sent = asyncio.Event()

    async def push(stream: Http2Stream) -> None:
        await stream.send_headers(200, [])
        await stream.send_data(bytes(STREAM_WINDOW_BYTES + 1))
        sent.set()
        await stream.end()

    async with serving(push) as caller:
        stream_id = await caller.open(sign=False)
        while len(caller.bodies[stream_id]) < STREAM_WINDOW_BYTES:
            await caller.read()
        await caller.round_trip()
        assert len(caller.bodies[stream_id]) == STREAM_WINDOW_BYTES
        assert not sent.is_set()
        caller.h2.increment_flow_control_window(1, stream_id)
        caller.h2.increment_flow_control_window(1)
        await caller.flush()
        await soon(sent.wait())


async def test_a_burst_ends_soon_after_its_caller_has_left(
    serving: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    left, ended = asyncio.Event(), asyncio.Event()
    sent = 0

    async def burst(stream: Http2Stream) -> None:
        nonlocal sent
        await stream.send_headers(200, [])
        await left.wait()
        try:
            while sent < 10_000:
                await stream.send_data(b"x")
                sent += 1
        finally:
            ended.set()

    async with serving(burst) as caller:
        await caller.status(await caller.open(sign=False))
        caller.abort()
        left.set()
        await soon(ended.wait())
    assert sent < 100
    assert "socket.send()" not in caplog.text


async def test_what_is_not_http2_is_closed(
    serving: Callable[..., Any], certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def never(stream: Http2Stream) -> None:
        raise AssertionError("there was no request")

    async with serving(never) as caller:
        address = urlsplit(caller.url)
        for protocols in ([], ["h2"]):
            context = ssl.create_default_context(cafile=str(certificates.ca))
            if protocols:
                context.set_alpn_protocols(protocols)
            reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await soon(reader.read())
            writer.close()
    assert "did not negotiate HTTP/2" in caplog.text
    assert "broke the HTTP/2 protocol" in caplog.text


async def test_whoever_answers_a_caller_that_says_goodbye_is_told_that_it_is_gone(
    serving: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    ended = asyncio.Event()

    async def talk(stream: Http2Stream) -> None:
        try:
            await stream.send_headers(200, [])
            while True:
                await stream.send_data(b"word")
                await asyncio.sleep(0.001)  # slower than the caller's credit runs out
        finally:
            ended.set()

    async with serving(talk) as caller:
        await caller.open(sign=False)
        await caller.round_trip()
        caller.h2.close_connection()
        await caller.flush()
        await soon(ended.wait())
    assert [record.message for record in caplog.records if "handler" in record.message] == []
