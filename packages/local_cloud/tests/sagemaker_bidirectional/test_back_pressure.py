"""Whoever does not take what comes stops whoever sends it, through the gateway, and nobody else."""

import asyncio
from typing import Any

from local_cloud.container_socket import Container
from local_cloud.http2_server import STREAM_WINDOW_BYTES

from packages.local_cloud.tests.conftest import eventually, soon
from packages.local_cloud.tests.raw_caller import RawCallers
from packages.local_cloud.tests.raw_container import RawContainer
from packages.local_cloud.tests.sagemaker_bidirectional.conftest import Gateway, StuckContainer


async def test_a_container_that_does_not_take_stops_the_callers_credit(
    gateway: Gateway, raw_caller: RawCallers
) -> None:
    stuck = StuckContainer(takes=3)

    async def dial(_url: str) -> Container:
        return stuck

    async with gateway("http://unused", dial=dial) as plane, raw_caller(plane) as caller:
        stream_id = await caller.open()
        await caller.status(stream_id)
        chunks = [await caller.chunk(stream_id, bytes([number]) * 10_000) for number in range(20)]
        wire = b"".join(chunks)
        sent = 0
        while (window := caller.h2.local_flow_control_window(stream_id)) or not stuck.stuck.is_set():
            if window:
                sent += await caller.send_some(stream_id, wire[sent:])
            await caller.round_trip()
        await caller.round_trip()
        assert caller.h2.local_flow_control_window(stream_id) == 0, "credit came back for what was not forwarded"
        (active,) = plane.active
        assert active.caller.received_bytes == sent
        assert active.caller.received_bytes - active.caller.acknowledged_bytes <= STREAM_WINDOW_BYTES
        assert len(stuck.taken) == 3
        # Credited is at most what was forwarded and the one chunk whose beginning came with it.
        assert active.caller.acknowledged_bytes <= len(b"".join(chunks[:4]))
        assert sent < len(wire)
        stuck.go.set()
        await caller.send(stream_id, wire[sent:])
        await eventually(lambda: len(stuck.taken) == 20)
        assert stuck.taken == [bytes([number]) * 10_000 for number in range(20)]


async def test_a_stuck_stream_leaves_its_neighbours_on_the_connection_alone(
    gateway: Gateway, raw_caller: RawCallers
) -> None:
    stuck, free = StuckContainer(takes=0), StuckContainer(takes=10_000)
    waiting = [stuck, free]

    async def dial(_url: str) -> Container:
        return waiting.pop(0)

    async with gateway("http://unused", dial=dial) as plane, raw_caller(plane) as caller:
        blocked = await caller.open()
        await caller.status(blocked)
        wire = b"".join([await caller.chunk(blocked, bytes(10_000)) for _ in range(10)])
        while caller.h2.local_flow_control_window(blocked):
            await caller.send_some(blocked, wire)
            await caller.round_trip()
        other = await caller.open()
        for _ in range(60):
            await caller.send(other, await caller.chunk(other, bytes(10_000)))
        await eventually(lambda: len(free.taken) == 60)
        assert stuck.taken == []


async def test_a_caller_that_gives_no_credit_stops_the_container(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        stream_id = await caller.open()
        socket = await container.socket()
        await caller.status(stream_id)
        total, size = 32, 500_000
        sending = asyncio.create_task(send_many(socket, total, size))
        while len(caller.bodies[stream_id]) < STREAM_WINDOW_BYTES:
            await caller.read()
        await caller.round_trip()
        assert len(caller.bodies[stream_id]) == STREAM_WINDOW_BYTES
        (active,) = plane.active
        assert active.exchange.traffic.parts_down == 0
        assert not sending.done()
        reading = asyncio.create_task(caller.messages(stream_id))
        await soon(sending)
        await socket.close(1000)
        got = await soon(reading)
        assert [len(message.payload) for message in got[:-1]] == [size] * total
        assert got[-1].headers[":exception-type"] == "ModelStreamError"


async def send_many(socket: Any, count: int, size: int) -> None:
    for _ in range(count):
        await socket.send(bytes(size))
