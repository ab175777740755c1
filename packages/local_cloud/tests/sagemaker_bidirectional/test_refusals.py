"""What the gateway refuses: requests, containers that are not there, signatures, and bytes that are no parts."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import h2.errors
import h2.events
import pytest
from aws_sdk_sagemaker_runtime_http2.models import InputValidationError, ModelError
from local_cloud.errors import AddressInUse
from local_cloud.sagemaker_bidirectional import BidirectionalSettings
from local_cloud.signatures import Credentials
from smithy_aws_event_stream.exceptions import UnmodeledEventError
from smithy_core.exceptions import CallError
from websockets.frames import Opcode

from packages.local_cloud.tests.conftest import eventually, soon
from packages.local_cloud.tests.raw_caller import RawCallers
from packages.local_cloud.tests.raw_container import RawContainer
from packages.local_cloud.tests.sagemaker_bidirectional.conftest import PATIENT, Gateway
from packages.local_cloud.tests.sdk_caller import part


async def test_a_path_that_leaves_its_place_is_refused(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        for path in ("/leading", "a/../b", "a?b=c"):
            stream = await sdk.invoke(model_invocation_path=path)
            with pytest.raises(InputValidationError, match="without a leading slash"):
                await soon(stream.await_output())
        stream = await sdk.invoke(model_query_string="not encoded")
        with pytest.raises(InputValidationError, match="percent-encoded"):
            await soon(stream.await_output())


async def test_an_unknown_endpoint_is_a_validation_error(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke("nobody")
        with pytest.raises(InputValidationError, match="Endpoint nobody of this account not found"):
            await soon(stream.await_output())


async def test_nobody_listening_is_a_model_error(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container:
        url = container.url
    async with gateway(url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        with pytest.raises(ModelError, match="does not accept connections"):
            await soon(stream.await_output())


async def test_a_container_that_is_slow_to_accept_is_a_model_error(
    gateway: Gateway, client: Callable[..., Any]
) -> None:
    async with (
        RawContainer(opens=False) as container,
        gateway(container.url, BidirectionalSettings(accept_timeout_s=0.25)) as plane,
        client(plane) as sdk,
    ):
        stream = await sdk.invoke()
        with pytest.raises(ModelError, match="did not accept the WebSocket within 250 ms"):
            await soon(stream.await_output())


async def test_something_that_is_no_websocket_is_a_model_error(gateway: Gateway, client: Callable[..., Any]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, gateway(url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        with pytest.raises(ModelError, match="refused the WebSocket"):
            await soon(stream.await_output())


async def test_the_wrong_secret_is_refused(
    gateway: Gateway, client: Callable[..., Any], raw_caller: RawCallers
) -> None:
    async with RawContainer() as container, gateway(container.url) as plane:
        wrong = raw_caller(plane)
        wrong._credentials = Credentials("AKIALOCALTEST", "guess")
        async with wrong as caller:
            stream_id = await caller.open()
            status, headers = await caller.status(stream_id)
            assert (status, headers["x-amzn-errortype"]) == (403, "InvalidSignatureException")
        async with client(plane, Credentials("AKIALOCALTEST", "guess")) as sdk:
            stream = await sdk.invoke()
            with pytest.raises(CallError, match="InvalidSignatureException"):
                await soon(stream.await_output())


async def test_an_unsigned_request_is_refused(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        stream_id = await caller.open(sign=False)
        status, headers = await caller.status(stream_id)
        assert (status, headers["x-amzn-errortype"]) == (403, "MissingAuthenticationTokenException")
        await caller.wait_for(h2.events.StreamEnded, stream_id)
        body = json.loads(caller.body(stream_id))
        assert body == {"Message": "Missing Authentication Token", "ErrorCode": "MissingAuthenticationTokenException"}


async def test_a_tampered_chunk_ends_the_stream_and_reaches_nobody(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        stream_id = await caller.open()
        socket = await container.socket()
        await caller.send(stream_id, await caller.chunk(stream_id, b"good"))
        await caller.chunk(stream_id, b"left out")
        await caller.send(stream_id, await caller.chunk(stream_id, b"after the gap"))
        (error,) = await caller.messages(stream_id)
        assert error.headers[":message-type"] == "error"
        assert error.headers[":error-code"] == "InvalidSignatureException"
        assert await soon(socket.message()) == (Opcode.BINARY, b"good")
        frame = await soon(socket.frame())
        assert frame is not None
        assert frame.opcode is Opcode.CLOSE


@pytest.mark.parametrize(
    "headers",
    [{":event-type": "Other"}, {"DataType": "JSON"}, {"CompletionState": "MAYBE"}],
)
async def test_something_other_than_a_part_is_refused(
    gateway: Gateway, raw_caller: RawCallers, headers: dict[str, str]
) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        stream_id = await caller.open()
        await caller.send(stream_id, await caller.chunk(stream_id, b"data", **headers))
        (error,) = await caller.messages(stream_id)
        assert error.headers[":error-code"] == "SerializationException"


async def test_bytes_that_are_no_event_stream_are_refused(gateway: Gateway, raw_caller: RawCallers) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, raw_caller(plane) as caller:
        broken, cut = await caller.open(), await caller.open()
        await caller.send(broken, b"GET / HTTP/1.1\r\n\r\n")
        await caller.send(cut, (await caller.chunk(cut, b"data"))[:-3], end=True)
        for stream_id in (broken, cut):
            (error,) = await caller.messages(stream_id)
            assert error.headers[":error-code"] == "SerializationException"


async def test_the_sdk_raises_what_a_broken_stream_ends_with(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        _, events = await soon(stream.await_output())
        await stream.input_stream.send(part(b"x", completion_state="MAYBE"))
        with pytest.raises(UnmodeledEventError, match="SerializationException"):
            await soon(events.receive())


async def test_too_many_streams_are_refused_until_one_ends(gateway: Gateway, raw_caller: RawCallers) -> None:
    settings = replace(PATIENT, max_streams=1)
    async with RawContainer() as container, gateway(container.url, settings) as plane, raw_caller(plane) as caller:
        first = await caller.open()
        await caller.status(first)
        status, headers = await caller.status(await caller.open())
        assert (status, headers["x-amzn-errortype"]) == (503, "ServiceUnavailableError")
        caller.h2.reset_stream(first)
        await caller.flush()
        await eventually(lambda: not plane.active)
        assert (await caller.status(await caller.open()))[0] == 200


async def test_a_taken_port_is_one_clear_error(gateway: Gateway) -> None:
    async with gateway("http://127.0.0.1:1") as plane:
        port = int(plane.url.rpartition(":")[2])
        with pytest.raises(AddressInUse, match=f"port {port} of 127.0.0.1 is in use"):
            async with gateway("http://127.0.0.1:1", port=port):
                pass
