"""A caller of the HTTP/2 plane that sees every event."""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Callable
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.events
from aws_sdk_signers import AsyncEventSigner, AWSCredentialIdentity, SigV4SigningProperties
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from local_cloud.certificates import Certificates
from local_cloud.event_stream import FrameDecoder
from local_cloud.sagemaker_bidirectional import SageMakerBidirectional
from local_cloud.signatures import Credentials
from smithy_aws_event_stream.events import EventHeaderEncoder, EventMessage

from packages.local_cloud.tests.conftest import REGION, soon

STREAMING = "STREAMING-AWS4-HMAC-SHA256-EVENTS"


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
