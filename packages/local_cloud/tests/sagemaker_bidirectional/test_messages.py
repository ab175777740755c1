"""What passes through the gateway: messages and their fragments both ways, the path, and each stream for itself."""

from collections.abc import Callable
from typing import Any

from websockets.frames import Opcode

from packages.local_cloud.tests.conftest import soon
from packages.local_cloud.tests.raw_container import RawContainer
from packages.local_cloud.tests.sagemaker_bidirectional.conftest import Gateway
from packages.local_cloud.tests.sdk_caller import part


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
