"""Sessions behave alike over a plain WebSocket and over SageMaker's HTTP/2, through the real client and the gateway.

The speech server behind both is the stand-in: one WebSocket server, which the first transport reaches directly and
the second through TLS, signatures and the event stream.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from local_cloud.certificates import Certificates, create_certificates
from local_cloud.sagemaker_bidirectional import SageMakerBidirectional
from local_cloud.signatures import Credentials
from speech_client import (
    Audio,
    AwsCredentials,
    Deadlines,
    ErrorEvent,
    Peer,
    RequestEvent,
    SageMakerTransport,
    SpeechAccessDeniedError,
    SpeechCredentialsError,
    SpeechEndpointNotFoundError,
    SpeechError,
    SpeechEvent,
    SpeechRefusedError,
    SpeechRequestError,
    SpeechSession,
    SpeechSessionEnded,
    SpeechTimeoutError,
    SpeechTlsError,
    SpeechUnreachableError,
    StaticCredentials,
    SynthesisCancelled,
    SynthesisComplete,
    Transport,
    WebSocketTransport,
    completes,
    speak_out,
    spell,
    stand_in,
    starts,
)
from speech_client.certificates import check_certificate
from speech_protocol import (
    AudioFramer,
    Cancel,
    ClientMessage,
    KnownEvent,
    SessionClosed,
    Synthesize,
    parse_message,
    render_event,
)
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


# What is said and heard


async def test_a_session_speaks_one_text_after_the_other(kind: str, certificates: Certificates) -> None:
    async with session_to(kind, certificates) as session:
        for text in ("Hello there.", "Ünïcödé 🎈 too.", "x" * 10_000):
            assert sound(await listen(session, text)) == spell(text)
        assert (await session.hello()).engine == "stand-in"
        await session.ping()


async def test_a_text_is_spoken_as_it_is_written(kind: str, certificates: Certificates) -> None:
    async with session_to(kind, certificates) as session:
        context = await session.open_context()
        behind = await session.send("Behind.")
        for token in ("Grü", "ße, ", "🎈 and all."):
            await context.write(token)
        await context.finish()
        session.finish()
        events = await rest(session)
    spoken = {
        request_id: sound([e for e in events if e.request_id == request_id]) for request_id in (context.id, behind)
    }
    assert spoken == {context.id: spell("Grüße, 🎈 and all."), behind: spell("Behind.")}
    assert events[0].request_id == context.id


async def test_pipelined_requests_are_answered_in_order(kind: str, certificates: Certificates) -> None:
    texts = [f"Sentence number {number}. " * 200 for number in range(20)]
    async with session_to(kind, certificates) as session:

        async def send_all() -> list[str]:
            ids = [await session.send(text) for text in texts]
            session.finish()
            return ids

        sending = asyncio.create_task(send_all())
        events = await rest(session)
        ids = await sending
    for request_id, text in zip(ids, texts, strict=True):
        assert sound([event for event in events if event.request_id == request_id]) == spell(text)
    assert [event.request_id for event in events if isinstance(event.event, SynthesisComplete)] == ids


@pytest.mark.parametrize("pcm", [b"{" + bytes(999), b'{"a":1} ', b' {"a": {}}\n\n', b"{}", b'{"a":1}' * 2])
async def test_audio_that_could_be_an_object_stays_audio(kind: str, certificates: Certificates, pcm: bytes) -> None:
    frames: list[bytes] = []

    async def speak(peer: Peer, message: Synthesize) -> None:
        framer = AudioFramer()
        frames[:] = framer.feed(pcm) + framer.flush()
        await peer.send_event(starts(message))
        for frame in frames:
            await peer.send(frame)
        await peer.send_event(completes(message))

    async with session_to(kind, certificates, stand_in(speak)) as session:
        assert sound(await listen(session, "x")) == b"".join(frames)
    assert len(b"".join(frames)) == len(pcm)


async def test_control_cut_inside_a_character_is_joined(kind: str, certificates: Certificates) -> None:
    async def refuse(peer: Peer, message: Synthesize) -> None:
        fields = {"type": "error", "request_id": message.request_id, "code": "busy", "message": "später 🎈 …"}
        *cuts, last = json.dumps(fields, ensure_ascii=False).encode()
        for byte in cuts:
            await peer.send(bytes([byte]), is_text=True, is_final=False)
        await peer.send(bytes([last]), is_text=True)

    async with session_to(kind, certificates, stand_in(refuse)) as session:
        with pytest.raises(SpeechRequestError) as caught:
            await listen(session, "x")
        assert caught.value.message == "später 🎈 …"
        await session.ping()


async def test_audio_in_fragments_is_joined_and_never_taken_for_control(kind: str, certificates: Certificates) -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(starts(message))
        for piece in (b'{"a":1', b"}", b"\0\0"):
            await peer.send(piece, is_final=piece == b"\0\0")
        await peer.send_event(completes(message))

    async with session_to(kind, certificates, stand_in(speak)) as session:
        events = await listen(session, "x")
    assert [event.data for event in events if isinstance(event, Audio)] == [b'{"a":1}\0\0']


async def test_a_cancelled_request_ends_and_the_session_goes_on(kind: str, certificates: Certificates) -> None:
    async def begin(peer: Peer, message: Synthesize) -> None:
        if message.text == "Old.":
            await peer.send_event(starts(message))
            await peer.send(spell("Ol"))
        else:
            await speak_out(peer, message)

    async def on_cancel(peer: Peer, message: Cancel) -> None:
        await peer.send_event(SynthesisCancelled(message.request_id or "", "Ol", "d.", 0.1))

    async with session_to(kind, certificates, stand_in(begin, on_cancel)) as session:
        old = await session.send("Old.")
        async with aclosing(session.events()) as events:
            async for item in events:
                if isinstance(item.event, Audio):
                    await session.cancel(old, played_s=0.1)
                if isinstance(item.event, SynthesisCancelled):
                    break
        assert sound(await listen(session, "New.")) == spell("New.")


async def test_an_error_of_one_request_leaves_the_others_alone(kind: str, certificates: Certificates) -> None:
    async def speak(peer: Peer, message: Synthesize) -> None:
        if message.text == "bad":
            await peer.send_event(ErrorEvent(message.request_id, "busy", "later", retryable=True, retry_after_s=1.5))
        else:
            await speak_out(peer, message)

    async with session_to(kind, certificates, stand_in(speak)) as session:
        with pytest.raises(SpeechRequestError) as caught:
            await listen(session, "bad")
        assert (caught.value.code, caught.value.retry_after_s) == ("busy", 1.5)
        assert sound(await listen(session, "good")) == spell("good")


# How it ends


@pytest.mark.parametrize("code", [1000, 1001, 1011])
async def test_a_server_that_closes_is_an_error(kind: str, certificates: Certificates, code: int) -> None:
    async def close(peer: Peer, message: Synthesize) -> None:
        assert isinstance(peer, WebSocketPeer)
        await peer.send_event(starts(message))
        await peer.socket.close(code)

    async with session_to(kind, certificates, stand_in(close)) as session:
        with pytest.raises(SpeechSessionEnded, match="open a new session"):
            await listen(session, "x")


async def test_a_server_that_drops_the_connection_is_an_error(kind: str, certificates: Certificates) -> None:
    async def drop(peer: Peer, message: Synthesize) -> None:
        assert isinstance(peer, WebSocketPeer)
        peer.socket.transport.abort()

    async with session_to(kind, certificates, stand_in(drop)) as session:
        with pytest.raises(SpeechSessionEnded) as caught:
            await listen(session, "x")
        assert caught.value.code == "1006"


async def test_a_goodbye_that_nobody_asked_for_is_an_error(kind: str, certificates: Certificates) -> None:
    async def leave(peer: Peer, message: Synthesize) -> None:
        await peer.send_event(SessionClosed())

    async with session_to(kind, certificates, stand_in(leave)) as session:
        with pytest.raises(SpeechSessionEnded, match="closed the session"):
            await listen(session, "x")


async def test_silence_is_an_error(kind: str, certificates: Certificates) -> None:
    async def falter(peer: Peer, message: Synthesize) -> None:
        if message.text == "half":
            await peer.send_event(starts(message))
            await peer.send(spell("ha"))

    for text, waiting_for, deadlines in (
        ("half", "next frame", Deadlines(silence_s=SOON, close_s=SOON)),
        ("none", "first audio", Deadlines(first_audio_s=SOON, close_s=SOON)),
    ):
        async with session_to(kind, certificates, stand_in(falter), deadlines) as session:
            with pytest.raises(SpeechTimeoutError) as caught:
                await listen(session, text)
            assert caught.value.waiting_for == waiting_for


async def test_a_server_that_does_not_greet_is_given_up(kind: str, certificates: Certificates) -> None:
    async def listen_only(peer: WebSocketPeer) -> None:
        async for _ in peer.messages():
            pass

    async with speech(kind, certificates, listen_only) as running:
        with pytest.raises(SpeechTimeoutError) as caught:
            await opened(running.transport(), Deadlines(connect_s=SOON))
        assert caught.value.waiting_for == "connection"
        await running.left_alone()


async def test_a_server_that_ignores_the_goodbye_is_left(kind: str, certificates: Certificates) -> None:
    async def no_goodbye(peer: WebSocketPeer) -> None:
        async for message in peer.messages():
            if type(message).__name__ == "Hello":
                await stand_in()(_Once(peer, message))

    async with session_to(kind, certificates, no_goodbye, Deadlines(close_s=SOON)):
        pass


@dataclass
class _Once:
    """A peer that says one thing."""

    peer: WebSocketPeer
    message: ClientMessage

    async def messages(self) -> AsyncIterator[ClientMessage]:
        yield self.message

    async def send(self, data: bytes, *, is_text: bool = False, is_final: bool = True) -> None:
        await self.peer.send(data, is_text=is_text, is_final=is_final)

    async def send_event(self, event: KnownEvent) -> None:
        await self.peer.send_event(event)


# Pace


async def test_a_caller_that_does_not_read_stops_the_server(kind: str, certificates: Certificates) -> None:
    frame_bytes, enough = 16 * 1024, 2048  # 32 MiB: more than all buffers on the way, the kernel's among them
    sent = 0
    settled, going_on = asyncio.Event(), asyncio.Event()

    async def talk(peer: Peer, message: Synthesize) -> None:
        nonlocal sent
        await peer.send_event(starts(message))
        while sent < enough:
            sending = asyncio.ensure_future(peer.send(bytes(frame_bytes)))
            try:
                if not (await asyncio.wait({sending}, timeout=2))[0]:
                    settled.set()
                await sending
            finally:
                sending.cancel()
            sent += 1
            if settled.is_set():
                going_on.set()
        settled.set()

    async with speech(kind, certificates, stand_in(talk)) as running:
        deadlines = Deadlines(close_s=SOON)  # leaves in the middle of the answer
        async with SpeechSession.connect(running.transport(), deadlines=deadlines) as session:
            await session.send("x")
            await settled.wait()
            assert sent < enough
            async with aclosing(session.events()) as events:
                while not going_on.is_set():
                    await anext(events)
        await running.left_alone()


# Opening


async def test_nobody_at_the_address(kind: str, certificates: Certificates) -> None:
    async with speech(kind, certificates) as running:
        scheme = "ws" if kind == "websocket" else "https"
        with pytest.raises(SpeechUnreachableError, match="nothing answers"):
            await opened(running.transport(url=f"{scheme}://127.0.0.1:{free_port()}"))


async def test_no_such_host(kind: str, certificates: Certificates) -> None:
    async with speech(kind, certificates) as running:
        scheme = "ws" if kind == "websocket" else "https"
        with pytest.raises(SpeechUnreachableError):
            await opened(running.transport(url=f"{scheme}://nobody.invalid:8443"))


async def test_a_certificate_that_is_not_trusted(certificates: Certificates) -> None:
    async with speech("sagemaker", certificates) as running:
        with pytest.raises(SpeechTlsError, match="ca_file"):
            await opened(running.transport(trust=False))
        other = create_certificates(certificates.ca.parent / "other")
        running.certificates = other
        with pytest.raises(SpeechTlsError, match="ca_file"):
            await opened(running.transport())
        plain = ssl.create_default_context(cafile=str(other.ca))
        transport = WebSocketTransport(running.gateway_url.replace("https", "wss"), ssl_context=plain)
        with pytest.raises(SpeechTlsError, match="ssl_context"):
            await opened(transport)


async def test_an_address_without_tls(certificates: Certificates) -> None:
    async with speech("sagemaker", certificates) as running:
        with pytest.raises(SpeechUnreachableError, match="is TLS spoken there"):
            await opened(running.transport(url=running.websocket_url.replace("ws", "https")))


async def test_a_trusted_certificate_is_not_complained_about(certificates: Certificates) -> None:
    async with speech("sagemaker", certificates) as running:
        port = int(running.gateway_url.rpartition(":")[2])
        await check_certificate("localhost", port, certificates.ca.read_bytes())
        with pytest.raises(ssl.SSLCertVerificationError):
            await check_certificate("localhost", port, None)


async def test_a_service_that_hangs_up_before_it_answers(certificates: Certificates) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=certificates.server_context())
    async with server, speech("sagemaker", certificates) as running:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(SpeechUnreachableError):
            await opened(running.transport(url=f"https://127.0.0.1:{port}"))


async def test_an_endpoint_that_does_not_exist(certificates: Certificates) -> None:
    async with speech("sagemaker", certificates) as running:
        with pytest.raises(SpeechEndpointNotFoundError, match="'nobody'"):
            await opened(running.transport(endpoint="nobody"))


async def test_a_container_that_does_not_run(certificates: Certificates) -> None:
    async with speech("sagemaker", certificates) as running:
        with pytest.raises(SpeechRefusedError, match="container") as caught:
            await opened(running.transport(endpoint="unborn"))
        assert (caught.value.code, caught.value.retryable) == ("ModelError", True)


async def test_credentials_that_the_service_does_not_know(certificates: Certificates) -> None:
    async with speech("sagemaker", certificates) as running:
        with pytest.raises(SpeechAccessDeniedError, match="InvokeEndpointWithBidirectionalStream"):
            await opened(running.transport(keys=Credentials.generate()))


async def test_no_credentials_at_all(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    async with speech("sagemaker", certificates) as running:
        transport = SageMakerTransport("kokoro", "us-east-1", endpoint_uri=running.gateway_url, ca_file=certificates.ca)
        with pytest.raises(SpeechCredentialsError, match="no AWS credentials found"):
            await opened(transport)


async def test_the_default_credentials_sign_what_the_service_checks(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with speech("sagemaker", certificates) as running:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", running.keys.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", running.keys.secret_access_key)
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        transport = SageMakerTransport("kokoro", "us-east-1", endpoint_uri=running.gateway_url, ca_file=certificates.ca)
        for _ in range(2):  # a transport opens one session after the other
            async with SpeechSession.connect(transport, deadlines=PATIENT) as session:
                assert sound(await listen(session, "Hello.")) == spell("Hello.")
        await running.left_alone()


# Cancellation


@pytest.mark.slow
async def test_cancelling_anywhere_leaves_no_task_and_no_connection(kind: str, certificates: Certificates) -> None:
    async with speech(kind, certificates) as running:
        transport = running.transport()

        async def live() -> None:
            async with SpeechSession.connect(transport, deadlines=PATIENT) as session:
                await session.ping()
                await listen(session, "One.")
                for text in ("Two.", "Three."):
                    await session.send(text)
                session.finish()
                await rest(session)

        async def steps_of(task: "asyncio.Task[None]", at_most: int) -> int:
            for step in range(at_most):
                if task.done():
                    return step
                await asyncio.sleep(0)
            return at_most

        whole = asyncio.create_task(live())
        steps = await steps_of(whole, 10**9)
        await whole
        cuts = 0
        for cut in range(200):
            task = asyncio.create_task(live())
            taken = await steps_of(task, steps * cut // 200)
            if task.done():  # quicker than those before
                steps = taken
            task.cancel()
            await asyncio.wait({task})
            cuts += task.cancelled()
            if not task.cancelled():
                assert not isinstance(task.exception(), SpeechError)
            left = [found for found in asyncio.all_tasks() if "speech_client" in repr(found.get_coro())]
            assert left == []
        assert cuts > 100
        await running.left_alone()


async def test_many_sessions_at_once_hear_their_own_texts(kind: str, certificates: Certificates) -> None:
    async with speech(kind, certificates) as running:

        async def talk(number: int) -> bytes:
            async with SpeechSession.connect(running.transport(), deadlines=PATIENT) as session:
                return sound(await listen(session, f"This is number {number}."))

        heard = await asyncio.gather(*map(talk, range(16)))
        assert heard == [spell(f"This is number {number}.") for number in range(16)]
        await running.left_alone()
