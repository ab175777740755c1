"""What the three HTTP/1.1 data planes have in common: loopback, SigV4, bounded bodies, and errors as AWS words them."""

import json
import logging
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar, Self

import httpx
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from local_cloud.errors import CallerGone, RequestRefused, SignatureRefused
from local_cloud.loopback import AppServer
from local_cloud.relay import read_body
from local_cloud.signatures import Credentials, SignatureVerifier, SignedRequest

log = logging.getLogger(__name__)

CLIENT_CLOSED_REQUEST = 499
"""Nobody reads it: the status of an answer to a caller that has hung up."""


class HttpPlane:
    """Base of the HTTP data planes. `async with` is its life; `url` its address from the start.

    A subclass names the service as SigV4 does, the member of error bodies that holds the message, and gives `routes`.
    """

    service: ClassVar[str]
    title: ClassVar[str]
    message_member: ClassVar[str] = "message"
    max_body_bytes: ClassVar[int]
    ws_max_bytes: ClassVar[int] = 1024 * 1024

    def __init__(self, *, credentials: Credentials, region: str = "us-east-1", port: int = 0) -> None:
        self._verifier = SignatureVerifier(credentials, service=self.service, region=region)
        self._port = port
        self._life = AsyncExitStack()
        self.url = ""

    def routes(self) -> Sequence[BaseRoute]:
        """The plane's operations."""
        raise NotImplementedError

    async def open(self, life: AsyncExitStack) -> None:
        """Open what the plane needs while it serves, and leave its closing to `life`."""

    async def __aenter__(self) -> Self:
        # Starlette's annotation wants handlers that take any Exception; it calls them with their own kind only.
        handlers: dict[type[Exception], Any] = {
            SignatureRefused: self._refuse_signature,
            RequestRefused: self._refuse_request,
            CallerGone: self._nobody_left,
        }
        app = Starlette(routes=list(self.routes()), exception_handlers=handlers)
        server = AppServer(app, port=self._port, what=self.title, ws_max_bytes=self.ws_max_bytes)
        async with AsyncExitStack() as life:
            await self.open(life)
            await life.enter_async_context(server)
            self._life = life.pop_all()
        self.url = server.url
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._life.aclose()

    async def read_signed_body(self, request: Request) -> bytes:
        """The body of a request whose signature is right.

        Raises:
            RequestRefused: the body is too long.
            SignatureRefused: the signature is not right.
        """
        body = await read_body(request, self.max_body_bytes)
        if body is None:
            raise RequestRefused(
                400,
                "ValidationException" if self.message_member == "message" else "ValidationError",
                f"The request body is longer than {self.max_body_bytes} bytes.",
            )
        self.verify(request, request.method, body)
        return body

    def verify(self, connection: HTTPConnection, method: str, body: bytes) -> None:
        """Check the signature of a request or of a WebSocket's opening. Raises `SignatureRefused`."""
        target = connection.scope["raw_path"].decode("ascii")
        if query := connection.scope["query_string"]:
            target += "?" + query.decode("ascii")
        self._verifier.verify(SignedRequest(method, target, connection.headers.items(), body))

    def error(self, status: int, code: str, message: str, extra: dict[str, object] | None = None) -> Response:
        """An error in the service's own shape."""
        return Response(
            json.dumps({self.message_member: message, **(extra or {})}),
            status,
            {"x-amzn-errortype": code, "x-amzn-requestid": str(uuid.uuid4())},
            media_type="application/json",
        )

    async def _refuse_signature(self, _request: Request, error: SignatureRefused) -> Response:
        return self.error(error.status, error.code, error.message)

    async def _refuse_request(self, _request: Request, error: RequestRefused) -> Response:
        return self.error(error.status, error.code, error.message, error.extra)

    async def _nobody_left(self, _request: Request, _error: CallerGone) -> Response:
        return Response(status_code=CLIENT_CLOSED_REQUEST)


def upstream_client(*, connect_s: float, respond_s: float) -> httpx.AsyncClient:
    """A client for the process behind a plane: no proxies, no redirects, a deadline for every wait."""
    return httpx.AsyncClient(
        timeout=httpx.Timeout(respond_s, connect=connect_s),
        limits=httpx.Limits(max_connections=256, max_keepalive_connections=16),
        trust_env=False,
    )
