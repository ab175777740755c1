"""Callers and containers for either side of the planes: the real SDK clients, and raw ones where frames matter."""

import asyncio
import contextlib
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any
from urllib.parse import urlsplit

import boto3
import h2.config
import h2.connection
import h2.events
import pytest
from aws_sdk_sagemaker_runtime_http2.client import (
    AsyncSageMakerRuntimeHTTP2Client,
)
from aws_sdk_sagemaker_runtime_http2.config import (
    AsyncSageMakerRuntimeHTTP2Config,
)
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
)
from aws_sdk_signers import AsyncEventSigner, AWSCredentialIdentity, SigV4SigningProperties
from awscrt import io as crt_io
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials
from local_cloud.certificates import Certificates, create_certificates
from local_cloud.event_stream import FrameDecoder
from local_cloud.sagemaker_bidirectional import SageMakerBidirectional
from local_cloud.signatures import Credentials
from smithy_aws_event_stream.events import EventHeaderEncoder, EventMessage
from smithy_http.aio.crt import AWSCRTHTTPClient, AWSCRTHTTPClientConfig
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

REGION = "us-east-1"
PATIENCE_S = 30.0
STREAMING = "STREAMING-AWS4-HMAC-SHA256-EVENTS"
DATA_OPCODES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


async def soon[T](waited: Awaitable[T]) -> T:
    """What is waited for, or a failure after `PATIENCE_S`: a deadline against hanging, not a measurement."""
    return await asyncio.wait_for(waited, PATIENCE_S)


async def eventually(holds: Callable[[], bool]) -> None:
    """Give the loop turns until `holds`; for states of our own loop that end without an event."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - what is waited for is plain state, which sets no event
            await asyncio.sleep(0)


@pytest.fixture
def credentials() -> Credentials:
    return Credentials("AKIALOCALTEST", "wJalrXUtnFEMI/K7MDENG")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return create_certificates(tmp_path_factory.mktemp("certificates"))


# Containers


class RawSocket:
    """The container's side of one WebSocket, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers_pings: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._answers_pings = answers_pings
        self._protocol = ServerProtocol()
        self._frames: list[Frame] = []
        self.path = ""
        self.pings = 0

    async def accept(self) -> None:
        while not self.path:
            self._protocol.receive_data(await self._reader.read(65536))
            for event in self._protocol.events_received():
                if isinstance(event, Request):
                    self.path = event.path
                    self._protocol.send_response(self._protocol.accept(event))
                else:
                    self._frames.append(event)  # type: ignore[arg-type]  # all other events are frames
        await self.flush()

    async def frame(self) -> Frame | None:
        """The next data or close frame; None when the connection has ended."""
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if frame.opcode in (*DATA_OPCODES, Opcode.CLOSE):
                    return frame
                self.pings += frame.opcode is Opcode.PING
            if self._protocol.state is State.CLOSED:
                return None
            try:
                data = await self._reader.read(65536)
            except OSError:
                return None
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            self._frames += self._protocol.events_received()  # type: ignore[arg-type]  # after the handshake, only frames
            await self.flush()

    async def message(self) -> tuple[Opcode, bytes]:
        """The next whole message."""
        frame = await self.frame()
        assert frame is not None
        opcode, data = frame.opcode, bytes(frame.data)
        while not frame.fin:
            frame = await self.frame()
            assert frame is not None
            data += bytes(frame.data)
        return opcode, data

    async def send(self, data: bytes, *, text: bool = False, fin: bool = True, more: bool = False) -> None:
        """Send one frame; `more` continues the message begun before."""
        if more:
            self._protocol.send_continuation(data, fin)
        elif text:
            self._protocol.send_text(data, fin)
        else:
            self._protocol.send_binary(data, fin)
        await self.flush()

    async def close(self, code: int, reason: str = "") -> None:
        self._protocol.send_close(code, reason)
        await self.flush()

    async def flush(self) -> None:
        for data in self._protocol.data_to_send():
            if not data:
                self._writer.close()
            elif self._answers_pings or data[0] != 0x80 | Opcode.PONG:
                self._writer.write(data)
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def abort(self) -> None:
        self._writer.transport.abort()


class RawContainer:
    """A model container that hands its sockets to the test. `opens` False: it takes connections and never answers."""

    def __init__(self, *, opens: bool = True, answers_pings: bool = True) -> None:
        self._opens = opens
        self._answers_pings = answers_pings
        self._accepted: asyncio.Queue[RawSocket] = asyncio.Queue()
        self._writers: list[asyncio.StreamWriter] = []
        self.url = ""

    async def __aenter__(self) -> "RawContainer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        if self._opens:
            socket = RawSocket(reader, writer, answers_pings=self._answers_pings)
            await socket.accept()
            self._accepted.put_nowait(socket)

    async def socket(self) -> RawSocket:
        """The next socket that the gateway opened."""
        return await soon(self._accepted.get())


# The SageMaker HTTP/2 SDK


class PrivateCATransport(AWSCRTHTTPClient):
    """The SDK's transport, trusting one authority. The SDK copies it; `__deepcopy__` must keep the trust.

    `bodies`: those of the requests that it or a copy has sent.
    """

    def __init__(self, ca_pem: bytes, bodies: list[Any], eventloop: Any = None, client_config: Any = None) -> None:
        super().__init__(eventloop=eventloop, client_config=client_config)
        self._ca_pem = ca_pem
        self._bodies = bodies
        options = crt_io.TlsContextOptions()
        options.override_default_trust_store(ca_pem)
        self._tls_ctx = crt_io.ClientTlsContext(options)

    def __deepcopy__(self, memo: Any) -> "PrivateCATransport":
        return PrivateCATransport(self._ca_pem, self._bodies, self._eventloop, deepcopy(self._config))

    async def send(self, request: Any, **members: Any) -> Any:
        self._bodies.append(request.body)
        return await super().send(request, **members)


class SdkCaller:
    """The real client. Every request's body is closed in the end, or the SDK's writer would outlive its stream.

    Not the stream's input, whose close waits for the writer to take what is left: a writer that has met the stream's
    end takes nothing more, and the wait would have no end (awscrt 0.32 lets it fail unseen).
    """

    def __init__(self, client: AsyncSageMakerRuntimeHTTP2Client, bodies: list[Any]) -> None:
        self._client = client
        self._bodies = bodies

    async def invoke(self, endpoint: str = "kokoro", **members: Any) -> Any:
        asked = InvokeEndpointWithBidirectionalStreamInput(endpoint_name=endpoint, **members)
        return await self._client.invoke_endpoint_with_bidirectional_stream(asked)

    async def close(self) -> None:
        for body in self._bodies:
            await soon(body.close(flush=False))


@asynccontextmanager
async def sdk_client(url: str, ca_pem: bytes, credentials: Credentials) -> AsyncIterator[SdkCaller]:
    bodies: list[Any] = []
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
        endpoint_uri=url,
        region=REGION,
        aws_access_key_id=credentials.access_key_id,
        aws_secret_access_key=credentials.secret_access_key,
        transport=PrivateCATransport(ca_pem, bodies, client_config=AWSCRTHTTPClientConfig(force_http_2=True)),
    )
    async with AsyncSageMakerRuntimeHTTP2Client(config=config) as client:
        caller = SdkCaller(client, bodies)
        yield caller
        await caller.close()


def part(data: bytes, **members: Any) -> RequestStreamEventPayloadPart:
    return RequestStreamEventPayloadPart(value=RequestPayloadPart(bytes_=data, **members))


# A caller that sees every HTTP/2 event


class RawCaller:
    """A signed HTTP/2 caller, by hand: sends what credit allows, credits back only when told to."""

    def __init__(self, url: str, certificates: Certificates, credentials: Credentials) -> None:
        self.url = url
        self._address = urlsplit(url)
        self._context = ssl.create_default_context(cafile=str(certificates.ca))
        self._context.set_alpn_protocols(["h2"])
        self._credentials = credentials
        self._identity = AWSCredentialIdentity(
            access_key_id=credentials.access_key_id, secret_access_key=credentials.secret_access_key
        )
        self._signers: dict[int, AsyncEventSigner] = {}
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.events: list[h2.events.Event] = []
        self.bodies: defaultdict[int, bytearray] = defaultdict(bytearray)
        self._uncredited: list[tuple[int, int]] = []

    async def __aenter__(self) -> "RawCaller":
        self._reader, self._writer = await asyncio.open_connection(
            self._address.hostname, self._address.port, ssl=self._context, server_hostname="localhost"
        )
        self.h2.initiate_connection()
        await self.flush()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.abort()

    def abort(self) -> None:
        """Drop the connection."""
        self._writer.transport.abort()

    async def flush(self) -> None:
        self._writer.write(self.h2.data_to_send())
        await self._writer.drain()

    async def open(self, endpoint: str = "kokoro", *, sign: bool = True, **headers: str) -> int:
        """Send the headers of a bidirectional request; returns its stream."""
        path = f"/endpoints/{endpoint}/invocations-bidirectional-stream"
        request = AWSRequest("POST", f"https://{self._address.netloc}{path}")
        request.headers["X-Amz-Content-SHA256"] = STREAMING
        for name, value in headers.items():
            request.headers[name.replace("_", "-")] = value
        known = BotoCredentials(self._credentials.access_key_id, self._credentials.secret_access_key)
        if sign:
            SigV4Auth(known, "sagemaker", REGION).add_auth(request)
        stream_id = self.h2.get_next_available_stream_id()
        pseudo = [(":method", "POST"), (":path", path), (":scheme", "https"), (":authority", self._address.netloc)]
        self.h2.send_headers(stream_id, pseudo + [(name.lower(), value) for name, value in request.headers.items()])
        await self.flush()
        if sign:
            signature = request.headers["Authorization"].rpartition("Signature=")[2]
            self._signers[stream_id] = AsyncEventSigner(
                initial_signature=signature.encode(), event_encoder_cls=EventHeaderEncoder
            )
        return stream_id

    async def chunk(self, stream_id: int, data: bytes | None, **headers: str) -> bytes:
        """The next signed chunk with one PayloadPart; with None, the empty one that ends the input."""
        signer, properties = self._signers[stream_id], SigV4SigningProperties(region=REGION, service="sagemaker")
        if data is None:
            signed = await signer.sign_empty(event=EventMessage(), identity=self._identity, properties=properties)
        else:
            named = {":event-type": "PayloadPart", ":message-type": "event", **headers}
            event = EventMessage(headers=named, payload=data)
            signed = await signer.sign(event=event, identity=self._identity, properties=properties)
        return signed.encode()

    async def send(self, stream_id: int, data: bytes, *, end: bool = False) -> None:
        """Send all of `data`, waiting for credit."""
        while data:
            size = await self.send_some(stream_id, data)
            data = data[size:]
            if data:
                await self.read()
        if end:
            self.h2.end_stream(stream_id)
            await self.flush()

    async def send_some(self, stream_id: int, data: bytes) -> int:
        """Send what credit allows now; returns how much that was."""
        sent = 0
        while size := min(
            len(data) - sent, self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size
        ):
            self.h2.send_data(stream_id, data[sent : sent + size])
            sent += size
        await self.flush()
        return sent

    async def read(self) -> None:
        """Wait for the gateway and take in what it says."""
        data = await soon(self._reader.read(65536))
        if not data:
            raise ConnectionError("the gateway closed the connection")
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                stream_id = event.stream_id or 0
                self.bodies[stream_id] += event.data or b""
                self._uncredited.append((event.flow_controlled_length or 0, stream_id))
            else:
                self.events.append(event)
        await self.flush()

    async def wait_for[E: h2.events.Event](self, kind: type[E], stream_id: int | None = None) -> E:
        """The first event of a kind (on a stream), reading until it is there."""
        while True:
            for event in self.events:
                if isinstance(event, kind) and stream_id in (None, getattr(event, "stream_id", None)):
                    return event
            await self.read()

    async def round_trip(self) -> None:
        """A PING and its answer: everything sent before has been seen, everything said before has come."""
        self.events = [event for event in self.events if not isinstance(event, h2.events.PingAckReceived)]
        self.h2.ping(b"01234567")
        await self.flush()
        await self.wait_for(h2.events.PingAckReceived)

    async def status(self, stream_id: int) -> tuple[int, dict[str, str]]:
        """Status and headers of the answer."""
        response = await self.wait_for(h2.events.ResponseReceived, stream_id)
        headers = {str(name): str(value) for name, value in response.headers or ()}
        return int(headers[":status"]), headers

    def body(self, stream_id: int) -> bytes:
        """What has come of the answer so far."""
        return bytes(self.bodies[stream_id])

    async def messages(self, stream_id: int) -> list[EventMessage]:
        """All events of the answer, to its end. Credits everything."""
        while not any(isinstance(e, h2.events.StreamEnded) and e.stream_id == stream_id for e in self.events):
            for size, of in self._uncredited:
                self.h2.acknowledge_received_data(size, of)
            self._uncredited.clear()
            await self.flush()
            await self.read()
        return list(FrameDecoder().feed(self.body(stream_id)))


RawCallers = Callable[[SageMakerBidirectional], RawCaller]


@pytest.fixture
def raw_caller(certificates: Certificates, credentials: Credentials) -> RawCallers:
    return lambda plane: RawCaller(plane.url, certificates, credentials)


# boto3, and a caller that can hang up at any moment


@asynccontextmanager
async def signed_post(
    base: str, path: str, service: str, body: bytes, credentials: Credentials
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A signed HTTP/1.1 POST, sent; leaving the block hangs up."""
    request = AWSRequest("POST", base + path, data=body)
    known = BotoCredentials(credentials.access_key_id, credentials.secret_access_key)
    SigV4Auth(known, service, REGION).add_auth(request)
    address = urlsplit(base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    headers = [*request.headers.items(), ("Host", address.netloc), ("Content-Length", str(len(body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


@pytest.fixture
def boto_client(credentials: Credentials) -> Iterator[Callable[..., Any]]:
    """Makes real boto3 clients without retries, unless told otherwise."""
    made: list[Any] = []

    def make(service: str, url: str, known: Credentials = credentials, attempts: int = 1) -> Any:
        client = boto3.client(
            service,
            region_name=REGION,
            endpoint_url=url,
            aws_access_key_id=known.access_key_id,
            aws_secret_access_key=known.secret_access_key,
            config=Config(retries={"total_max_attempts": attempts}, read_timeout=PATIENCE_S, proxies={}),
        )
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()
