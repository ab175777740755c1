"""A websockets server in the process is the speech server, or something that turns a client away."""

import asyncio
import http
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from speech_client import (
    Audio,
    Deadlines,
    Message,
    SpeechAccessDeniedError,
    SpeechEndpointNotFoundError,
    SpeechError,
    SpeechRefusedError,
    SpeechSession,
    SpeechSessionEnded,
    SpeechUsageError,
    WebSocketTransport,
    spell,
    stand_in,
)
from speech_protocol import ClientMessage, KnownEvent, parse_message, render_event
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response


class SocketPeer:
    """The stand-in's end of a WebSocket."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket

    async def messages(self) -> AsyncIterator[ClientMessage]:
        async for data in self._socket:
            assert isinstance(data, str)
            yield parse_message(data)

    async def send(self, data: bytes, *, is_text: bool = False, is_final: bool = True) -> None:
        await self._socket.send(data, text=is_text)

    async def send_event(self, event: KnownEvent) -> None:
        await self._socket.send(render_event(event))


async def speak(socket: ServerConnection) -> None:
    await stand_in()(SocketPeer(socket))


def port_of(server: Server | asyncio.Server) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])


@asynccontextmanager
async def turning_away(status: int) -> AsyncIterator[WebSocketTransport]:
    def refuse(socket: ServerConnection, request: Request) -> Response:
        return socket.respond(http.HTTPStatus(status), "no\n")

    async with serve(speak, "127.0.0.1", 0, process_request=refuse) as server:
        yield WebSocketTransport(f"ws://127.0.0.1:{port_of(server)}")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "127.0.0.1:8080", "ws:///path", "kokoro", ""])
def test_other_addresses_are_refused_with_an_example(url: str) -> None:
    with pytest.raises(SpeechUsageError, match=r"looks like ws://127\.0\.0\.1:8080"):
        WebSocketTransport(url)


@pytest.mark.parametrize(
    ("given", "reached"),
    [("", "/invocations-bidirectional-stream"), ("/", "/invocations-bidirectional-stream"), ("/own?x=1", "/own?x=1")],
)
async def test_a_session_is_opened_at_the_contracts_path_unless_another_is_named(given: str, reached: str) -> None:
    paths = []

    async def note(socket: ServerConnection) -> None:
        assert socket.request is not None
        paths.append((socket.request.path, socket.request.headers.get("x-who")))
        await speak(socket)

    async with serve(note, "127.0.0.1", 0) as server:
        transport = WebSocketTransport(f"ws://127.0.0.1:{port_of(server)}{given}", headers={"x-who": "me"})
        async with SpeechSession.connect(transport):
            pass
    assert paths == [(reached, "me")]


async def test_an_address_will_do_for_a_transport() -> None:
    async with (
        serve(speak, "127.0.0.1", 0) as server,
        SpeechSession.connect(f"ws://127.0.0.1:{port_of(server)}") as session,
    ):
        events = [event async for event in session.speak("Hello.")]
    assert b"".join(event.data for event in events if isinstance(event, Audio)) == spell("Hello.")


@pytest.mark.parametrize(
    ("status", "error", "retryable"),
    [
        (401, SpeechAccessDeniedError, False),
        (403, SpeechAccessDeniedError, False),
        (404, SpeechEndpointNotFoundError, False),
        (400, SpeechRefusedError, False),
        (503, SpeechRefusedError, True),
    ],
)
async def test_a_server_that_turns_a_client_away(status: int, error: type[SpeechError], retryable: bool) -> None:
    async with turning_away(status) as transport:
        with pytest.raises(error, match=str(status)) as caught:
            await transport.connect()
        assert caught.value.retryable is retryable


async def test_a_port_that_speaks_something_else() -> None:
    async def mail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(mail, "127.0.0.1", 0) as server:
        with pytest.raises(SpeechRefusedError, match="does not speak WebSocket"):
            await WebSocketTransport(f"ws://127.0.0.1:{port_of(server)}").connect()


async def test_text_and_binary_frames_are_told_apart() -> None:
    async def say(socket: ServerConnection) -> None:
        await socket.send("ü")
        await socket.send(b"\1\2")

    async with serve(say, "127.0.0.1", 0) as server:
        connection = await WebSocketTransport(f"ws://127.0.0.1:{port_of(server)}").connect()
        assert await connection.receive() == Message("ü".encode(), is_text=True)
        assert await connection.receive() == Message(b"\1\2")
        assert await connection.receive() is None
        with pytest.raises(SpeechSessionEnded):
            await connection.send("too late")
        await connection.close(1)
        await connection.close(1)


async def test_a_server_that_does_not_answer_the_close_is_dropped() -> None:
    closed = asyncio.Event()

    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()  # to the end of the connection, answering nothing
        closed.set()
        writer.close()

    async with await asyncio.start_server(ignore, "127.0.0.1", 0) as server:
        with pytest.raises(TimeoutError):
            async with SpeechSession.connect(f"ws://127.0.0.1:{port_of(server)}", deadlines=Deadlines(connect_s=0.05)):
                pass
        await closed.wait()
