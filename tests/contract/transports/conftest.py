"""Sessions over a plain WebSocket and over SageMaker's HTTP/2, through the real client and the gateway.

The speech server behind both is the stand-in: one WebSocket server, which the first transport reaches directly and
the second through TLS, signatures and the event stream.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from local_cloud.certificates import Certificates, create_certificates
from local_cloud.sagemaker_bidirectional import SageMakerBidirectional
from local_cloud.signatures import Credentials
from speech_client import (
    Audio,
    AwsCredentials,
    Deadlines,
    RequestEvent,
    SageMakerTransport,
    SpeechEvent,
    SpeechSession,
    StaticCredentials,
    Transport,
    WebSocketTransport,
    stand_in,
)
from speech_protocol import ClientMessage, KnownEvent, parse_message, render_event
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

SOON = 0.2  # a deadline that a test wants to see missed
PATIENT = Deadlines(connect_s=20, first_audio_s=20, silence_s=20, close_s=5)
KINDS = ("websocket", "sagemaker")

Serve = Callable[["WebSocketPeer"], Any]


@dataclass
class WebSocketPeer:
    """The stand-in's end of a WebSocket, fragments included."""

    socket: ServerConnection
    _in_fragments: bool = False

    async def messages(self) -> AsyncIterator[ClientMessage]:
        async for data in self.socket:
            yield parse_message(data)

    async def send(self, data: bytes, *, is_text: bool = False, is_final: bool = True) -> None:
        async with self.socket.send_context():
            if self._in_fragments:
                self.socket.protocol.send_continuation(data, fin=is_final)
            elif is_text:
                self.socket.protocol.send_text(data, fin=is_final)
            else:
                self.socket.protocol.send_binary(data, fin=is_final)
        self._in_fragments = not is_final

    async def send_event(self, event: KnownEvent) -> None:
        await self.send(render_event(event).encode(), is_text=True)


@dataclass
class Speech:
    """A running stand-in, the way to it, and what it has seen."""

    kind: str
    websocket_url: str
    certificates: Certificates
    keys: Credentials
    gateway_url: str = ""
    open_sockets: set[ServerConnection] = field(default_factory=set)
    nobody: asyncio.Condition = field(default_factory=asyncio.Condition)

    def transport(
        self,
        *,
        endpoint: str = "kokoro",
        url: str | None = None,
        keys: Credentials | None = None,
        trust: bool = True,
    ) -> Transport:
        if self.kind == "websocket":
            return WebSocketTransport(url or self.websocket_url)
        signing = keys or self.keys
        return SageMakerTransport(
            endpoint,
            "us-east-1",
            endpoint_uri=url or self.gateway_url,
            ca_file=self.certificates.ca if trust else None,
            credentials=StaticCredentials(AwsCredentials(signing.access_key_id, signing.secret_access_key)),
        )

    async def left_alone(self) -> None:
        """Wait until the last client has gone."""
        async with self.nobody:
            await self.nobody.wait_for(lambda: not self.open_sockets)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return create_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
async def nothing_goes_wrong_unseen() -> AsyncIterator[None]:
    trouble: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: trouble.append(context))
    yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    # A server's handshake may still be open: awscrt hangs up on a certificate it does not trust only after 10 to 30 s.
    assert [task for task in left if "_accept_connection2" not in repr(task.get_coro())] == []
    assert trouble == []


@asynccontextmanager
async def speech(kind: str, certificates: Certificates, serving: Serve | None = None) -> AsyncIterator[Speech]:
    """A stand-in behind a WebSocket and, for the SageMaker transport, the gateway in front of it."""
    answer = serving or stand_in()

    async def handle(websocket: ServerConnection) -> None:
        running.open_sockets.add(websocket)
        try:
            await answer(WebSocketPeer(websocket))
            async with asyncio.timeout(1):  # as the contract says, let the client close first
                await websocket.wait_closed()
        except (ConnectionClosed, TimeoutError):
            pass
        finally:
            running.open_sockets.discard(websocket)
            async with running.nobody:
                running.nobody.notify_all()

    async with AsyncExitStack() as life:
        server = await life.enter_async_context(serve(handle, "127.0.0.1", 0, compression=None))
        port = next(iter(server.sockets)).getsockname()[1]
        running = Speech(kind, f"ws://127.0.0.1:{port}", certificates, Credentials.generate())
        if kind == "sagemaker":
            endpoints = {"kokoro": f"http://127.0.0.1:{port}", "unborn": f"http://127.0.0.1:{free_port()}"}
            gateway = SageMakerBidirectional(endpoints, credentials=running.keys, certificates=certificates)
            await life.enter_async_context(gateway)
            running.gateway_url = gateway.url
        yield running


@asynccontextmanager
async def session_to(
    kind: str, certificates: Certificates, serving: Serve | None = None, deadlines: Deadlines = PATIENT
) -> AsyncIterator[SpeechSession]:
    async with speech(kind, certificates, serving) as running:
        tasks = asyncio.all_tasks()
        async with SpeechSession.connect(running.transport(), deadlines=deadlines) as session:
            yield session
        await running.left_alone()
        assert not {task for task in asyncio.all_tasks() - tasks if "speech_client" in repr(task.get_coro())}


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def sound(events: list[SpeechEvent] | list[RequestEvent]) -> bytes:
    parts = (item.event if isinstance(item, RequestEvent) else item for item in events)
    return b"".join(part.data for part in parts if isinstance(part, Audio))


async def listen(session: SpeechSession, text: str) -> list[SpeechEvent]:
    return [event async for event in session.speak(text)]


async def rest(session: SpeechSession) -> list[RequestEvent]:
    return [event async for event in session.events()]


async def opened(transport: Transport, deadlines: Deadlines = PATIENT) -> None:
    async with SpeechSession.connect(transport, deadlines=deadlines):
        pass
