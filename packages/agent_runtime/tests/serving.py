"""The agent's app on a real server, and callers that read, hang up or do not read."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from agent_runtime.app import create_app
from agent_runtime.bidi import run_bidi
from agent_runtime.conversation import Conversation
from agent_runtime.request import AgentRequest
from agent_runtime.turn import Services, Turn
from agent_runtime.turns import Turns
from speech_protocol import SseDecoder
from websockets.asyncio.client import ClientConnection, connect

from packages.agent_runtime.tests.conftest import ScriptedText, conversation_with, services, within
from packages.agent_runtime.tests.scripted_bedrock import PATIENCE_S
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice

SESSION_HEADER = "x-amzn-bedrock-agentcore-runtime-session-id"


@dataclass
class Served:
    """What is behind an app: one text and one voice for every turn, or those that a factory makes."""

    make: Callable[[], tuple[Services, ScriptedVoice]]
    options: dict[str, Any] = field(default_factory=dict)
    requests: list[AgentRequest] = field(default_factory=list)
    conversations: dict[Conversation, Services] = field(default_factory=dict)

    def converse(self) -> Conversation:
        made, voice = self.make()
        conversation = conversation_with(voice)
        self.conversations[conversation] = made
        return conversation

    def answer(self, request: AgentRequest, conversation: Conversation, request_id: str) -> Turn:
        self.requests.append(request)
        return run_bidi(request, conversation, self.conversations[conversation], request_id=request_id)


def behind(text: ScriptedText, voice: ScriptedVoice, **options: Any) -> Served:
    """The same text and voice for every turn."""
    made = services(text)
    return Served(lambda: (made, voice), options)


@dataclass
class Running:
    """A server that takes connections."""

    url: str
    turns: Turns
    port: int


@contextlib.asynccontextmanager
async def serving(served: Served) -> AsyncIterator[Running]:
    """The app on a real server."""
    options = dict(served.options)
    send_timeout_s = options.pop("send_timeout_s", 60.0)
    turns = Turns(served.answer, served.converse, **options)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        create_app(turns, send_timeout_s=send_timeout_s),
        log_config=None,
        lifespan="on",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    port = listener.getsockname()[1]
    try:
        yield Running(f"http://127.0.0.1:{port}", turns, port)
    finally:
        server.should_exit = True
        await within(running)


class Call:
    """One HTTP request whose answer is read as it comes, or hung up on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.head = ""
        self.raw = b""

    async def events(self) -> AsyncGenerator[dict[str, Any]]:
        decoder = SseDecoder()
        async with asyncio.timeout(PATIENCE_S):
            self.head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
            while data := await self._reader.read(65_536):
                self.raw += data
                for event in decoder.feed(data):
                    yield event

    async def body(self) -> bytes:
        """All that comes after the head."""
        return (await within(self._reader.read())).split(b"\r\n\r\n", 1)[1]

    def hang_up(self) -> None:
        self._writer.transport.abort()


@contextlib.asynccontextmanager
async def calling(
    url: str, payload: object = None, *, path: str = "/invocations", session_id: str | None = None
) -> AsyncIterator[Call]:
    """HTTP/1.0, so that the body is the stream itself, up to the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    method = "POST" if path == "/invocations" else "GET"
    headers = "" if session_id is None else f"{SESSION_HEADER}: {session_id}\r\n"
    writer.write(f"{method} {path} HTTP/1.0\r\n{headers}content-length: {len(body)}\r\n\r\n".encode() + body)
    try:
        yield Call(reader, writer)
    finally:
        writer.close()


async def ask(url: str, payload: object, session_id: str | None = None) -> list[dict[str, Any]]:
    async with calling(url, payload, session_id=session_id) as call:
        return [event async for event in call.events()]


async def ping(url: str) -> dict[str, Any]:
    async with calling(url, path="/ping") as call:
        status: dict[str, Any] = json.loads(await call.body())
        return status


class Caller:
    """A WebSocket caller: sends messages, collects frames."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[dict[str, Any] | bytes] = []

    async def say(self, message: str | bytes | None = None, **fields: Any) -> None:
        await self.socket.send(json.dumps(fields) if message is None else message)

    async def until(self, *kinds: str) -> dict[str, Any]:
        """Collect frames up to an event of one of these types, which is returned."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                frame = await self.socket.recv()
                if isinstance(frame, bytes):
                    self.frames.append(frame)
                    if "audio" in kinds:
                        return {}
                    continue
                event: dict[str, Any] = json.loads(frame)
                self.frames.append(event)
                if event["type"] in kinds:
                    return event

    @property
    def audio(self) -> bytes:
        return b"".join(frame for frame in self.frames if isinstance(frame, bytes))

    @property
    def kinds(self) -> list[str]:
        """Types in order, audio as `audio`, runs of one kind as one."""
        kinds = [frame["type"] if isinstance(frame, dict) else "audio" for frame in self.frames]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]

    def forget(self) -> None:
        self.frames.clear()


@contextlib.asynccontextmanager
async def talking(running: Running, session_id: str | None = None) -> AsyncIterator[Caller]:
    """A caller on /ws."""
    headers = {} if session_id is None else {SESSION_HEADER: session_id}
    url = f"ws://127.0.0.1:{running.port}/ws"
    async with connect(url, additional_headers=headers, proxy=None, compression=None, max_size=None) as socket:
        yield Caller(socket)
