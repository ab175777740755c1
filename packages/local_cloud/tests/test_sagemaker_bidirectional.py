"""The gateway between the real SageMaker HTTP/2 client, or a caller by hand, and a container that shows every frame."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import h2.errors
import h2.events
import pytest
from aws_sdk_sagemaker_runtime_http2.models import (
    InputValidationError,
    InternalServerError,
    InternalStreamFailure,
    ModelError,
    ModelStreamError,
)
from local_cloud.certificates import Certificates
from local_cloud.container_socket import Closing, Container, Fragment
from local_cloud.errors import AddressInUse
from local_cloud.http2_server import STREAM_WINDOW_BYTES
from local_cloud.sagemaker_bidirectional import BidirectionalSettings, SageMakerBidirectional
from local_cloud.signatures import Credentials
from smithy_aws_event_stream.exceptions import UnmodeledEventError
from smithy_core.exceptions import CallError
from websockets.frames import Opcode

from packages.local_cloud.tests.conftest import (
    RawCallers,
    RawContainer,
    eventually,
    part,
    sdk_client,
    soon,
)

PATIENT = BidirectionalSettings(accept_timeout_s=20, close_timeout_s=0.2)
"""The platform's 250 ms are for a machine that has nothing else to do; tests about other things wait longer."""

Gateway = Callable[..., Any]


@pytest.fixture
def gateway(certificates: Certificates, credentials: Credentials) -> Gateway:
    """Makes a gateway to a container, with the endpoint name `kokoro`."""

    def make(url: str, settings: BidirectionalSettings = PATIENT, **options: Any) -> SageMakerBidirectional:
        return SageMakerBidirectional(
            {"kokoro": url}, credentials=credentials, certificates=certificates, settings=settings, **options
        )

    return make


@pytest.fixture
def client(certificates: Certificates, credentials: Credentials) -> Callable[..., Any]:
    def make(plane: SageMakerBidirectional, known: Credentials = credentials) -> Any:
        return sdk_client(plane.url, certificates.ca.read_bytes(), known)

    return make


async def test_text_and_binary_keep_their_kind_both_ways(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        for sent in (part(b'{"a":1}', data_type="UTF8"), part(b"{}", data_type="BINARY"), part(b"\x00\xff")):
            await stream.input_stream.send(sent)
        assert await soon(socket.message()) == (Opcode.TEXT, b'{"a":1}')
        assert await soon(socket.message()) == (Opcode.BINARY, b"{}")
        assert await soon(socket.message()) == (Opcode.BINARY, b"\x00\xff")
        await socket.send("é".encode(), text=True)
        await socket.send(b"\x01\x02")
        _, events = await soon(stream.await_output())
        text, binary = await soon(events.receive()), await soon(events.receive())
        assert (text.value.data_type, text.value.bytes_, text.value.completion_state) == (
            "UTF8",
            b"\xc3\xa9",
            "COMPLETE",
        )
        assert (binary.value.data_type, binary.value.bytes_) == ("BINARY", b"\x01\x02")
        await stream.input_stream.close()
        frame = await soon(socket.frame())
        assert frame is not None
        assert frame.opcode is Opcode.CLOSE
        assert await soon(events.receive()) is None


async def test_the_answer_begins_before_anything_is_sent(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        output, _ = await soon(stream.await_output())
        assert output.invoked_production_variant == "AllTraffic"
        await stream.input_stream.close()


async def test_fragments_cut_inside_a_character_arrive_as_the_same_fragments(
    gateway: Gateway, client: Callable[..., Any]
) -> None:
    message = '{"text": "naïve café"}'.encode()
    cuts = [message[:13], message[13:20], message[20:]]
    assert cuts[0].endswith(b"\xc3")
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        for number, cut in enumerate(cuts):
            state = "COMPLETE" if number == 2 else "PARTIAL"
            await stream.input_stream.send(part(cut, data_type="UTF8", completion_state=state))
        frames = [await soon(socket.frame()) for _ in cuts]
        assert [(f.opcode, bytes(f.data), f.fin) for f in frames if f] == [
            (Opcode.TEXT, cuts[0], False),
            (Opcode.CONT, cuts[1], False),
            (Opcode.CONT, cuts[2], True),
        ]
        await stream.input_stream.close()


async def test_fragments_of_the_container_arrive_as_parts(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        stream = await sdk.invoke()
        socket = await container.socket()
        await socket.send(b"\xc3", text=True, fin=False)
        await socket.send(b"\xa9", fin=False, more=True)
        await socket.send(b"", fin=True, more=True)
        await socket.send(b"audio")
        _, events = await soon(stream.await_output())
        got = [(await soon(events.receive())).value for _ in range(4)]
        assert [(p.data_type, p.completion_state, p.bytes_ or b"") for p in got] == [
            ("UTF8", "PARTIAL", b"\xc3"),
            ("UTF8", "PARTIAL", b"\xa9"),
            ("UTF8", "COMPLETE", b""),
            ("BINARY", "COMPLETE", b"audio"),
        ]
        await stream.input_stream.close()


async def test_path_and_query_headers_reach_the_container(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with RawContainer() as container, gateway(container.url) as plane, client(plane) as sdk:
        first = await sdk.invoke()
        assert (await container.socket()).path == "/invocations-bidirectional-stream"
        second = await sdk.invoke(model_invocation_path="custom/path", model_query_string="voice=af_heart&x=%20")
        assert (await container.socket()).path == "/custom/path?voice=af_heart&x=%20"
        for stream in (first, second):
            await stream.input_stream.close()


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


async def test_streams_and_connections_side_by_side_keep_apart(gateway: Gateway, client: Callable[..., Any]) -> None:
    async with (
        RawContainer() as container,
        gateway(container.url) as plane,
        client(plane) as one,
        client(plane) as other,
    ):
        for sdk in (one, one, other):
            stream = await sdk.invoke()
            socket = await container.socket()
            name = str(id(stream)).encode()
            await stream.input_stream.send(part(name))
            _, data = await soon(socket.message())
            await socket.send(data)
            _, events = await soon(stream.await_output())
            assert (await soon(events.receive())).value.bytes_ == name
        assert len(plane.active) == 3


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


async def test_a_taken_port_is_one_clear_error(gateway: Gateway) -> None:
    async with gateway("http://127.0.0.1:1") as plane:
        port = int(plane.url.rpartition(":")[2])
        with pytest.raises(AddressInUse, match=f"port {port} of 127.0.0.1 is in use"):
            async with gateway("http://127.0.0.1:1", port=port):
                pass


# Back-pressure


class StuckContainer:
    """Takes a number of frames and then none until it is let go; says what it took."""

    def __init__(self, takes: int) -> None:
        self._takes = takes
        self.taken: list[bytes] = []
        self.go = asyncio.Event()
        self.stuck = asyncio.Event()

    async def send(self, fragment: Fragment) -> None:
        if len(self.taken) == self._takes:
            self.stuck.set()
            await self.go.wait()
        self.taken.append(fragment.data)

    async def fragments(self) -> AsyncIterator[Fragment]:
        await self.go.wait()
        yield Fragment(b"done", text=False, final=True)
        await asyncio.Event().wait()

    def closing(self) -> Closing:
        return Closing(1006, "")

    def start_close(self, code: int) -> None:
        pass

    async def keep_alive(self, interval_s: float, unanswered_limit: int) -> None:
        await asyncio.Event().wait()

    async def end(self, code: int) -> None:
        self.go.set()


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
