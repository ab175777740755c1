"""How a stream through the gateway ends, and what its end closes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import h2.errors
import h2.events
import pytest
from aws_sdk_sagemaker_runtime_http2.models import InternalServerError, InternalStreamFailure, ModelStreamError
from local_cloud.container_socket import Container, Fragment
from websockets.frames import Opcode

from packages.local_cloud.tests.conftest import eventually, soon
from packages.local_cloud.tests.raw_caller import RawCallers
from packages.local_cloud.tests.raw_container import RawContainer
from packages.local_cloud.tests.sagemaker_bidirectional.conftest import PATIENT, Gateway, StuckContainer
from packages.local_cloud.tests.sdk_caller import part


@pytest.mark.parametrize(
    ("code", "reason", "message"), [(1000, "", "closed its WebSocket"), (1011, "out of memory", "out of")]
)
async def test_a_container_that_closes_first_is_a_model_stream_error(
    gateway: Gateway, client: Callable[..., Any], code: int, reason: str, message: str
) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        await socket.send(b"audio")
        await socket.close(code, reason)
        _, events = await soon(stream.await_output())
        assert (await soon(events.receive())).value.bytes_ == b"audio"
        with pytest.raises(ModelStreamError, match=message) as raised:
            await soon(events.receive())
        assert raised.value.error_code == str(code)


async def test_a_container_that_dies_is_a_model_stream_error(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        _, events = await soon(stream.await_output())
        socket.abort()
        with pytest.raises(ModelStreamError) as raised:
            await soon(events.receive())
        assert raised.value.error_code == "1006"


async def test_a_stream_breaks_where_it_is_told_to_and_the_next_one_does_not(
    gateway: Gateway, client: Callable[..., Any]
) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        plane.faults.breaks, plane.faults.after_bytes = 1, 6
        stream = await sdk.invoke()
        socket = await container.socket()
        _, events = await soon(stream.await_output())
        for _ in range(2):
            await socket.send(b"abc")
            assert (await soon(events.receive())).value.bytes_ == b"abc"
        with pytest.raises(ModelStreamError) as broken:
            await soon(events.receive())
        assert broken.value.error_code == "1006"
        frame = await soon(socket.frame())
        assert frame is None or frame.opcode is Opcode.CLOSE
        assert plane.faults.breaks == 0
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        _, events = await soon(stream.await_output())
        for _ in range(3):
            await socket.send(b"abc")
            assert (await soon(events.receive())).value.bytes_ == b"abc"
        await stream.input_stream.close()


async def test_a_frame_above_the_part_size_is_a_model_stream_error(
    gateway: Gateway, client: Callable[..., Any]
) -> None:
    settings = replace(PATIENT, max_part_bytes=1000)
    async with RawContainer() as container, gateway(container.url, settings) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        await socket.send(bytes(1001))
        _, events = await soon(stream.await_output())
        with pytest.raises(ModelStreamError):
            await soon(events.receive())


async def test_the_stream_limit_ends_the_stream_and_closes_the_container(
    gateway: Gateway, client: Callable[..., Any]
) -> None:
    settings = replace(PATIENT, stream_limit_s=0.2)
    async with RawContainer() as container, gateway(container.url, settings) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        _, events = await soon(stream.await_output())
        with pytest.raises(ModelStreamError, match=r"limit of 0\.2 seconds"):
            await soon(events.receive())
        frame = await soon(socket.frame())
        assert frame is not None
        assert frame.opcode is Opcode.CLOSE


async def test_pings_unanswered_close_the_stream(gateway: Gateway, client: Callable[..., Any]) -> None:
    settings = replace(PATIENT, ping_interval_s=0.01)
    async with (
        RawContainer(answers_pings=False) as container,
        gateway(container.url, settings) as plane,
        client(plane) as sdk,
    ):
        stream = await sdk.invoke()
        socket = await container.socket()
        _, events = await soon(stream.await_output())
        with pytest.raises(ModelStreamError, match="stopped answering pings"):
            await soon(events.receive())
        while await soon(socket.frame()) is not None:
            pass
        assert socket.pings == settings.unanswered_pings


async def test_a_container_that_answers_pings_is_left_alone(gateway: Gateway, client: Callable[..., Any]) -> None:
    settings = replace(PATIENT, ping_interval_s=0.002)
    async with RawContainer() as container, gateway(container.url, settings) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        waiting = asyncio.create_task(socket.message())
        await eventually_pinged(socket, 3 * settings.unanswered_pings)
        await stream.input_stream.send(part(b"still here"))
        assert await soon(waiting) == (Opcode.BINARY, b"still here")
        await stream.input_stream.close()


async def eventually_pinged(socket: Any, count: int) -> None:
    await eventually(lambda: socket.pings >= count)


async def test_a_reset_closes_the_containers_socket(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        stream_id = await caller.open()
        socket = await container.socket()
        await caller.status(stream_id)
        caller.h2.reset_stream(stream_id, h2.errors.ErrorCodes.CANCEL)
        await caller.flush()
        frame = await soon(socket.frame())
        assert frame is not None
        assert frame.opcode is Opcode.CLOSE
        await eventually(lambda: not plane.active)


async def test_a_lost_connection_closes_every_containers_socket(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        await caller.open()
        await caller.open()
        sockets = [await container.socket(), await container.socket()]
        await caller.__aexit__()
        for socket in sockets:
            frame = await soon(socket.frame())
            assert frame is not None
            assert frame.opcode is Opcode.CLOSE
        await eventually(lambda: not plane.active)


async def test_a_fault_of_the_gateway_has_the_services_name_and_no_details(
    gateway: Gateway, client: Callable[..., Any]
) -> None:
    class Broken(StuckContainer):
        async def fragments(self) -> AsyncIterator[Fragment]:
            yield Fragment(b"audio", text=False, final=True)
            raise RuntimeError("/a/path")

    containers: list[Container] = [Broken(0)]

    async def dial(_url: str) -> Container:
        return containers.pop()

    async with gateway("http://unused", dial=dial) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        _, events = await soon(stream.await_output())
        assert (await soon(events.receive())).value.bytes_ == b"audio"
        with pytest.raises(InternalStreamFailure, match="The gateway failed"):
            await soon(events.receive())
        stream = await sdk.invoke()
        with pytest.raises(InternalServerError, match="The gateway failed"):
            await soon(stream.await_output())


async def test_nothing_is_left_when_the_gateway_closes(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container:
        before = asyncio.all_tasks()
        plane = gateway(container.url)
        async with plane:
            caller = await raw_caller(plane).__aenter__()
            await caller.status(await caller.open())
            socket = await container.socket()
            reading = asyncio.create_task(caller.wait_for(h2.events.StreamEnded))
        frame = await soon(socket.frame())
        assert frame is not None
        assert frame.opcode is Opcode.CLOSE
        assert await soon(socket.frame()) is None
        with pytest.raises(ConnectionError):
            await soon(reading)
        await caller.__aexit__()
        await eventually(lambda: not asyncio.all_tasks() - before)
    assert plane.active == ()
