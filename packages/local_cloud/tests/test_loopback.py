import asyncio
import logging
import signal

import httpx
import pytest
from local_cloud.errors import AddressInUse
from local_cloud.loopback import AppServer, bind_loopback, port_of
from starlette.types import Receive, Scope, Send

from packages.local_cloud.tests.conftest import soon


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def get(url: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        return await client.get(url)


async def test_an_app_answers_at_its_url_and_only_on_loopback() -> None:
    async with AppServer(hello, what="a test") as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert (await get(server.url)).text == "hello"
    with pytest.raises(httpx.ConnectError):
        await get(server.url)


async def test_a_taken_port_is_one_clear_error() -> None:
    async with AppServer(hello, what="the first") as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(AddressInUse, match=f"port {port} of 127.0.0.1 is in use, so the second cannot listen"):
            async with AppServer(hello, port=port, what="the second"):
                pass


async def test_a_port_can_be_used_again_at_once() -> None:
    async with AppServer(hello, what="a test") as server:
        await get(server.url)
        port = int(server.url.rpartition(":")[2])
    async with AppServer(hello, port=port, what="a test") as server:
        assert (await get(server.url)).text == "hello"


async def test_who_connects_before_anybody_serves_is_not_refused() -> None:
    with bind_loopback(0, "a test") as sock:
        _, writer = await asyncio.open_connection("127.0.0.1", port_of(sock))
        writer.close()
        with pytest.raises(AddressInUse):
            bind_loopback(port_of(sock), "another")


async def test_no_signal_handler_is_installed() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with AppServer(hello, what="a test"):
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


async def test_leaving_ends_requests_that_go_on_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def for_ever(scope: Scope, receive: Receive, send: Send) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    before = asyncio.all_tasks()
    async with AppServer(for_ever, what="a test") as server:
        asking = asyncio.create_task(get(server.url))
        await soon(began.wait())
    assert ended.is_set()
    assert (await soon(asking)).status_code == 500
    assert not asyncio.all_tasks() - before
    assert caplog.records == []


async def test_what_fails_in_an_app_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a bug")

    async with AppServer(broken, what="a test") as server:
        with pytest.raises(httpx.HTTPError):
            (await get(server.url)).raise_for_status()
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "a test failed to answer /")
