"""How an exchange ends, with a caller and a container that do as they are told."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from local_cloud.bidirectional_exchange import Ending, Exchange
from local_cloud.container_socket import Closing, Fragment
from local_cloud.errors import CallerGone, ContainerClosed
from local_cloud.event_stream import decode_frame
from local_cloud.http2_server import Received
from local_cloud.payload_parts import PartReader

from packages.local_cloud.tests.conftest import eventually, soon
from packages.local_cloud.tests.test_payload_parts import Trusting, chunk


class Caller:
    def __init__(self) -> None:
        self.incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.credited = 0
        self.sent: list[bytes] = []
        self.gone = False

    async def receive(self) -> Received | None:
        data = await self.incoming.get()
        return None if data is None else Received(data, len(data))

    def acknowledge(self, credit_bytes: int) -> None:
        self.credited += credit_bytes

    async def send_data(self, data: bytes) -> None:
        if self.gone:
            raise CallerGone("gone")
        self.sent.append(data)


class Box:
    """A container of frames in memory."""

    def __init__(self) -> None:
        self.taken: list[Fragment] = []
        self.outgoing: asyncio.Queue[Fragment | None] = asyncio.Queue()
        self.closed = False
        self.asked_to_close = asyncio.Event()
        self.deaf = asyncio.Event()

    async def send(self, fragment: Fragment) -> None:
        if self.closed:
            raise ContainerClosed("closed")
        self.taken.append(fragment)

    async def fragments(self) -> AsyncIterator[Fragment]:
        while (fragment := await self.outgoing.get()) is not None:
            yield fragment

    def closing(self) -> Closing:
        return Closing(1011, "broken")

    def start_close(self, code: int) -> None:
        self.asked_to_close.set()

    async def keep_alive(self, interval_s: float, unanswered_limit: int) -> None:
        await self.deaf.wait()

    async def end(self, code: int) -> None:
        pass


class Room:
    """An exchange that is running between the two."""

    def __init__(self, limit_s: float = 1000.0) -> None:
        self.caller, self.box = Caller(), Box()
        self.exchange = Exchange(self.caller, self.box, PartReader(Trusting()))
        running = self.exchange.run(limit_s=limit_s, ping_interval_s=60, unanswered_pings=5)
        self.running: asyncio.Task[Ending] = asyncio.create_task(running)

    async def ending(self) -> Ending:
        return await soon(self.running)


def code_of(ending: Ending) -> object:
    assert ending.frame is not None
    headers = decode_frame(ending.frame).headers
    return headers.get(":exception-type") or headers.get(":error-code")


async def test_a_caller_that_ends_its_input_ends_all_well() -> None:
    room = Room()
    room.caller.incoming.put_nowait(chunk(b"hello"))
    room.caller.incoming.put_nowait(None)
    await soon(room.box.asked_to_close.wait())
    room.box.outgoing.put_nowait(Fragment(b"last", text=False, final=True))
    room.box.outgoing.put_nowait(None)
    assert await room.ending() == Ending(None, 1000)
    assert [fragment.data for fragment in room.box.taken] == [b"hello"]
    assert [decode_frame(sent).payload for sent in room.caller.sent] == [b"last"]
    assert room.exchange.traffic.bytes_up == 5
    assert room.exchange.traffic.bytes_down == 4


async def test_a_container_that_ends_first_is_a_model_stream_error() -> None:
    room = Room()
    room.box.outgoing.put_nowait(None)
    ending = await room.ending()
    assert code_of(ending) == "ModelStreamError"
    assert b'"broken"' in (ending.frame or b"")


async def test_a_container_found_closed_while_sending_is_reported_by_its_close() -> None:
    room = Room()
    room.box.closed = True
    room.caller.incoming.put_nowait(chunk(b"hello"))
    await eventually(lambda: room.caller.incoming.empty())
    room.box.outgoing.put_nowait(None)
    assert code_of(await room.ending()) == "ModelStreamError"
    assert room.caller.credited == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"nonsense, long enough", "SerializationException"), (chunk(b"x", DataType="?"), "SerializationException")],
)
async def test_bytes_that_are_no_parts_end_the_exchange(data: bytes, code: str) -> None:
    room = Room()
    room.caller.incoming.put_nowait(data)
    ending = await room.ending()
    assert code_of(ending) == code
    assert ending.close_code == 1008


async def test_silence_to_pings_ends_the_exchange() -> None:
    room = Room()
    room.box.deaf.set()
    assert code_of(await room.ending()) == "ModelStreamError"


async def test_the_limit_ends_the_exchange() -> None:
    ending = await Room(limit_s=0).ending()
    assert code_of(ending) == "ModelStreamError"
    assert b"ModelInvocationTimeExceeded" in (ending.frame or b"")
    assert ending.close_code == 1001


async def test_a_caller_that_leaves_ends_the_exchange() -> None:
    room = Room()
    room.caller.gone = True
    room.box.outgoing.put_nowait(Fragment(b"x", text=False, final=True))
    with pytest.raises(CallerGone):
        await room.ending()


async def test_no_task_outlives_the_exchange() -> None:
    before = asyncio.all_tasks()
    room = Room()
    room.box.outgoing.put_nowait(None)
    await room.ending()
    assert asyncio.all_tasks() == before
