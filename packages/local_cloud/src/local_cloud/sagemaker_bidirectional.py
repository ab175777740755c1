"""InvokeEndpointWithBidirectionalStream on loopback: the real SageMaker HTTP/2 client on one side, the real container
on the other.

What it keeps of the platform's behaviour: TLS with ALPN h2 on a port of its own; a signed event stream, every chunk
checked; one PayloadPart for one WebSocket frame; 250 ms for the container to accept; a ping a minute, closed after
five without answer; a container that closes first (with 1000 too) is a ModelStreamError; 30 minutes a stream. Answer
headers go out as soon as the container has accepted, so a client may await them before it sends."""

import asyncio
import json
import logging
import re
import ssl
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

from local_cloud.bidirectional_exchange import GOING_AWAY, Ending, Exchange
from local_cloud.certificates import Certificates
from local_cloud.container_socket import Container, ContainerSocket
from local_cloud.errors import CallerGone, ContainerFailed, RequestRefused, SignatureRefused
from local_cloud.event_stream import CONTENT_TYPE, encode_exception
from local_cloud.http2_server import Http2Server, Http2Stream
from local_cloud.loopback import HOST, bind_loopback, port_of
from local_cloud.payload_parts import PartReader
from local_cloud.signatures import ChunkVerifier, Credentials, SignatureVerifier, SignedRequest
from local_cloud.stream_faults import FragileContainer, StreamFaults

log = logging.getLogger(__name__)

SERVICE = "sagemaker"
ROUTE = re.compile(r"/endpoints/(?P<endpoint>[^/]+)/invocations-bidirectional-stream")
CONTAINER_PATH = "invocations-bidirectional-stream"
PATH_HEADER = "x-amzn-sagemaker-model-invocation-path"
QUERY_HEADER = "x-amzn-sagemaker-model-query-string"


@dataclass(frozen=True)
class BidirectionalSettings:
    """The platform's limits, and their documented values (Amazon SageMaker AI, bidirectional streaming)."""

    accept_timeout_s: float = 0.25
    ping_interval_s: float = 60.0
    unanswered_pings: int = 5
    stream_limit_s: float = 30 * 60.0
    max_part_bytes: int = 1024 * 1024
    max_streams: int = 256
    """Streams at once; above it callers get ServiceUnavailableError. Our own bound, as is the next."""
    close_timeout_s: float = 2.0
    """How long a container may take to answer a close frame, and a caller to take the last event."""


@dataclass(frozen=True)
class ActiveStream:
    """A stream being carried: the caller's side and what has passed."""

    endpoint: str
    caller: Http2Stream
    exchange: Exchange


Dial = Callable[[str], Awaitable[Container]]


class SageMakerBidirectional:
    """The bidirectional data plane. `url` is its address; `active` are the streams being carried now; `faults` has them
    break.

    `endpoints` maps endpoint names to the base URLs of their containers (``http://127.0.0.1:8080``). `dial` opens a
    container's socket and is there to be replaced in tests."""

    def __init__(
        self,
        endpoints: Mapping[str, str],
        *,
        credentials: Credentials,
        certificates: Certificates,
        region: str = "us-east-1",
        port: int = 0,
        settings: BidirectionalSettings | None = None,
        dial: Dial | None = None,
    ) -> None:
        self._endpoints = dict(endpoints)
        self._verifier = SignatureVerifier(credentials, service=SERVICE, region=region)
        self._certificates = certificates
        self._port = port
        self._settings = settings or BidirectionalSettings()
        self._dial = dial or self._dial_container
        self._active: dict[Http2Stream, ActiveStream] = {}
        self._life = AsyncExitStack()
        self.faults = StreamFaults()
        self.url = ""

    @property
    def active(self) -> tuple[ActiveStream, ...]:
        """The streams being carried now, oldest first."""
        return tuple(self._active.values())

    async def __aenter__(self) -> Self:
        context: ssl.SSLContext = self._certificates.server_context()
        sock = bind_loopback(self._port, "the SageMaker bidirectional gateway")
        self.url = f"https://{HOST}:{port_of(sock)}"
        await self._life.enter_async_context(Http2Server(self._serve, sock, context))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._life.aclose()

    async def _serve(self, stream: Http2Stream) -> None:
        try:
            endpoint, url, verifier = self._admit(stream)
            container = FragileContainer(await self._dial(url), self.faults)
            await self._carry(stream, endpoint, container, verifier)
        except (SignatureRefused, RequestRefused) as error:
            await _refuse(stream, error.status, error.code, error.message)
        except ContainerFailed as error:
            log.warning("a stream was refused: %s", error)
            await _refuse(stream, 424, "ModelError", str(error))
        except CallerGone:
            log.info("a caller left its stream")
        # A fault of the gateway's own: the caller gets the service's word for that, and the log what it was.
        except Exception:
            log.exception("the SageMaker bidirectional gateway failed")
            await _fail(stream)

    def _admit(self, stream: Http2Stream) -> tuple[str, str, ChunkVerifier]:
        """The endpoint, its container's URL and the verifier of what follows. Raises what the caller is refused
        with.
        """
        headers = dict(stream.headers)
        headers.setdefault("host", headers.get(":authority", ""))
        plain = [(name, value) for name, value in headers.items() if not name.startswith(":")]
        target = headers.get(":path", "")
        signature = self._verifier.verify(SignedRequest(headers.get(":method", ""), target, plain, body=None))
        route = ROUTE.fullmatch(target.partition("?")[0])
        if route is None or headers.get(":method") != "POST":
            raise RequestRefused(
                400, "InputValidationError", "Expected POST to an invocations-bidirectional-stream path."
            )
        endpoint = unquote(route["endpoint"])
        base = self._endpoints.get(endpoint)
        if base is None:
            raise RequestRefused(400, "InputValidationError", f"Endpoint {endpoint} of this account not found.")
        if len(self._active) >= self._settings.max_streams:
            raise RequestRefused(503, "ServiceUnavailableError", "Too many streams are open. Try again later.")
        return endpoint, _container_url(base, headers), self._verifier.chunks(signature)

    async def _dial_container(self, url: str) -> Container:
        return await ContainerSocket.dial(
            url,
            accept_timeout_s=self._settings.accept_timeout_s,
            max_fragment_bytes=self._settings.max_part_bytes,
            close_timeout_s=self._settings.close_timeout_s,
        )

    async def _carry(self, stream: Http2Stream, endpoint: str, container: Container, verifier: ChunkVerifier) -> None:
        exchange = Exchange(stream, container, PartReader(verifier))
        self._active[stream] = ActiveStream(endpoint, stream, exchange)
        close_code = GOING_AWAY
        try:
            answer = [("content-type", CONTENT_TYPE), ("x-amzn-invoked-production-variant", "AllTraffic")]
            await stream.send_headers(200, [*answer, ("x-amzn-requestid", str(uuid.uuid4()))])
            ending: Ending = await exchange.run(
                limit_s=self._settings.stream_limit_s,
                ping_interval_s=self._settings.ping_interval_s,
                unanswered_pings=self._settings.unanswered_pings,
            )
            close_code = ending.close_code
            async with asyncio.timeout(self._settings.close_timeout_s):
                if ending.frame is not None:
                    await stream.send_data(ending.frame)
                await stream.end()
        except TimeoutError:
            log.warning("a caller of %s did not read the end of its stream; resetting it", endpoint)
            stream.reset()
        finally:
            self._active.pop(stream, None)
            await container.end(close_code)


def _container_url(base: str, headers: Mapping[str, str]) -> str:
    path = headers.get(PATH_HEADER, CONTAINER_PATH)
    if path.startswith("/") or ".." in path.split("/") or not re.fullmatch(r"[\w.~!$&'()*+,;=:@%/-]+", path, re.ASCII):
        raise RequestRefused(
            400, "InputValidationError", "Expected a model invocation path without a leading slash, a query or '..'."
        )
    query = headers.get(QUERY_HEADER, "")
    if not re.fullmatch(r"[\w.~!$&'()*+,;=:@%/?-]*", query, re.ASCII):
        raise RequestRefused(400, "InputValidationError", "Expected a percent-encoded model query string.")
    return f"{base.rstrip('/')}/{path}" + (f"?{query}" if query else "")


async def _refuse(stream: Http2Stream, status: int, code: str, message: str) -> None:
    headers = [
        ("content-type", "application/json"),
        ("x-amzn-errortype", code),
        ("x-amzn-requestid", str(uuid.uuid4())),
    ]
    await stream.send_headers(status, headers)
    await stream.send_data(json.dumps({"Message": message, "ErrorCode": code}).encode())
    await stream.end()


async def _fail(stream: Http2Stream) -> None:
    message = "The gateway failed. Try again."
    if not stream.answered:
        await _refuse(stream, 500, "InternalServerError", message)
    else:
        await stream.send_data(encode_exception("InternalStreamFailure", {"Message": message}))
        await stream.end()
