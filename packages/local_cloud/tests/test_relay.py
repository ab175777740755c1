import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from local_cloud.errors import CallerGone
from local_cloud.relay import RelayResponse, read_body, until_hangup
from starlette.requests import Request
from starlette.types import Message

from packages.local_cloud.tests.conftest import soon


class Caller:
    """The ASGI server's side of one request."""

    def __init__(self, *messages: Message) -> None:
        self.incoming: asyncio.Queue[Message] = asyncio.Queue()
        for message in messages:
            self.incoming.put_nowait(message)
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.lost = False

    def hang_up(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> Message:
        return await self.incoming.get()

    async def send(self, message: Message) -> None:
        if self.lost:
            raise OSError("connection lost")
        await self.sent.put(message)


class Source:
    """A body that gives a piece for each permit and remembers that it was closed."""

    def __init__(self, *pieces: bytes) -> None:
        self.permits = asyncio.Semaphore(0)
        self.closed = False
        self._pieces = pieces

    @asynccontextmanager
    async def body(self) -> AsyncIterator[AsyncIterator[bytes]]:
        try:
            yield self._all()
        finally:
            self.closed = True

    async def _all(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await self.permits.acquire()
            yield piece


async def test_pieces_go_out_as_they_come() -> None:
    caller, source = Caller(), Source(b"one", b"two")
    response = RelayResponse(source.body(), 201, {"x-a": "b"}, media_type="audio/wav")
    relaying = asyncio.create_task(response({"type": "http"}, caller.receive, caller.send))
    start = await soon(caller.sent.get())
    assert start["status"] == 201
    assert dict(start["headers"]) == {b"x-a": b"b", b"content-type": b"audio/wav"}
    for piece in (b"one", b"two"):
        source.permits.release()
        assert await soon(caller.sent.get()) == {"type": "http.response.body", "body": piece, "more_body": True}
    await soon(relaying)
    assert source.closed
    assert (await caller.sent.get())["more_body"] is False


async def test_a_hangup_between_pieces_closes_the_source() -> None:
    caller, source = Caller(), Source(b"one", b"two")
    relaying = asyncio.create_task(RelayResponse(source.body())({"type": "http"}, caller.receive, caller.send))
    await soon(caller.sent.get())
    caller.hang_up()
    await soon(relaying)
    assert source.closed


async def test_a_caller_lost_while_sending_closes_the_source() -> None:
    caller, source = Caller(), Source(b"one")
    source.permits.release()
    caller.lost = True
    await soon(RelayResponse(source.body())({"type": "http"}, caller.receive, caller.send))
    assert not source.closed  # It was never opened: not even the headers went out.
    caller = Caller()
    relaying = asyncio.create_task(RelayResponse(source.body())({"type": "http"}, caller.receive, caller.send))
    await soon(caller.sent.get())
    caller.lost = True
    source.permits.release()
    await soon(relaying)
    assert source.closed


async def test_work_that_ends_is_returned_and_its_errors_are_raised() -> None:
    caller = Caller()
    assert await until_hangup(caller.receive, asyncio.sleep(0, "done")) == "done"

    async def fails() -> None:
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        await until_hangup(caller.receive, fails())


async def test_work_is_ended_before_the_hangup_is_raised() -> None:
    caller = Caller({"type": "http.request"}, {"type": "http.disconnect"})
    ended = False

    async def works() -> None:
        nonlocal ended
        try:
            await asyncio.Event().wait()
        finally:
            ended = True

    with pytest.raises(CallerGone):
        await soon(until_hangup(caller.receive, works()))
    assert ended


@pytest.mark.parametrize(("limit_bytes", "read"), [(6, b"abcdef"), (5, None)])
async def test_a_body_is_read_up_to_its_limit(limit_bytes: int, read: Any) -> None:
    caller = Caller(
        {"type": "http.request", "body": b"abc", "more_body": True},
        {"type": "http.request", "body": b"def", "more_body": False},
    )
    assert await read_body(Request({"type": "http"}, caller.receive), limit_bytes) == read
