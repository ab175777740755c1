import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from local_cloud.container_socket import Closing, ContainerSocket, Fragment
from local_cloud.errors import ContainerClosed, ContainerFailed
from websockets.frames import Opcode

from packages.local_cloud.tests.conftest import soon
from packages.local_cloud.tests.raw_container import RawContainer, RawSocket


@asynccontextmanager
async def connected(close_timeout_s: float = 0.1) -> AsyncIterator[tuple[ContainerSocket, RawSocket]]:
    async with RawContainer() as container:
        url = container.url + "/invocations-bidirectional-stream"
        opened = await ContainerSocket.dial(
            url, accept_timeout_s=20, max_fragment_bytes=1000, close_timeout_s=close_timeout_s
        )
        yield opened, await container.socket()
        await opened.end(1001)


async def test_frames_keep_their_bytes_and_their_ends() -> None:
    async with connected() as (gateway, container):
        for fragment in (
            Fragment(b"\xc3", text=True, final=False),
            Fragment(b"\xa9", text=True, final=True),
            Fragment(b"", text=False, final=True),
        ):
            await gateway.send(fragment)
        frames = [await soon(container.frame()) for _ in range(3)]
        assert [(f.opcode, bytes(f.data), f.fin) for f in frames if f] == [
            (Opcode.TEXT, b"\xc3", False),
            (Opcode.CONT, b"\xa9", True),
            (Opcode.BINARY, b"", True),
        ]
        await container.send(b"\xf0\x9f", text=True, fin=False)
        await container.send(b"\x98\x80", more=True)
        incoming = gateway.fragments()
        assert await soon(anext(incoming)) == Fragment(b"\xf0\x9f", text=True, final=False)
        assert await soon(anext(incoming)) == Fragment(b"\x98\x80", text=True, final=True)


async def test_frames_sent_with_the_handshake_are_not_lost() -> None:
    async with RawContainer() as container:
        dialling = asyncio.create_task(
            ContainerSocket.dial(container.url, accept_timeout_s=20, max_fragment_bytes=1000, close_timeout_s=0.1)
        )
        socket = await container.socket()
        await socket.send(b"early")
        await socket.close(1000)
        opened = await dialling
        assert [f.data async for f in opened.fragments()] == [b"early"]
        assert opened.closing() == Closing(1000, "")
        await opened.end(1000)


async def test_a_closed_container_takes_nothing_more() -> None:
    async with connected() as (gateway, container):
        await container.close(4001, "enough")
        assert [f async for f in gateway.fragments()] == []
        assert gateway.closing() == Closing(4001, "enough")
        with pytest.raises(ContainerClosed):
            await gateway.send(Fragment(b"x", text=False, final=True))


async def test_a_dropped_connection_is_an_abnormal_close() -> None:
    async with connected() as (gateway, container):
        container.abort()
        assert [f async for f in gateway.fragments()] == []
        assert gateway.closing() == Closing(1006, "")


async def test_what_comes_after_our_close_is_still_passed_on() -> None:
    async with connected(close_timeout_s=20) as (gateway, container):
        gateway.start_close(1000)
        await container.send(b"last words")
        incoming = gateway.fragments()
        assert (await soon(anext(incoming))).data == b"last words"
        reading = asyncio.create_task(anext(incoming, None))
        assert (await soon(container.frame())) is not None
        assert await soon(reading) is None
        assert gateway.closing().code == 1000


async def test_a_container_that_never_answers_our_close_is_dropped() -> None:
    async with connected() as (gateway, _):
        gateway.start_close(1000)
        assert await soon(anext(gateway.fragments(), None)) is None
        assert gateway.closing().code == 1006


async def test_a_frame_above_the_limit_closes_the_socket() -> None:
    async with connected() as (gateway, container):
        await container.send(bytes(1001))
        assert [f async for f in gateway.fragments()] == []
        frame = await soon(container.frame())
        assert frame is not None
        assert (frame.opcode, bytes(frame.data)[:2]) == (Opcode.CLOSE, (1009).to_bytes(2, "big"))


async def test_a_container_that_does_not_open_is_told_apart_from_one_that_is_not_there() -> None:
    async with RawContainer(opens=False) as container:
        with pytest.raises(ContainerFailed, match="within 50 ms"):
            await ContainerSocket.dial(container.url, accept_timeout_s=0.05, max_fragment_bytes=1000, close_timeout_s=1)
        url = container.url
    with pytest.raises(ContainerFailed, match="does not accept connections"):
        await ContainerSocket.dial(url, accept_timeout_s=20, max_fragment_bytes=1000, close_timeout_s=1)
