"""InvokeEndpoint and InvokeEndpointWithResponseStream on loopback: boto3's sagemaker-runtime → the container's POST
/invocations.

Documented limits kept: 6,291,456 bytes a body, 60 s for the container to respond, PayloadPart events of raw bytes as
they come. Where the two operations differ is where the client's Accept travels: in Accept itself, and in
X-Amzn-SageMaker-Accept."""

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager

import httpx
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.errors import RequestRefused
from local_cloud.event_stream import CONTENT_TYPE, encode_event, encode_exception
from local_cloud.http_plane import HttpPlane, log, upstream_client
from local_cloud.relay import RelayResponse, until_hangup
from local_cloud.signatures import Credentials

RESPOND_S = 60.0
CONNECT_S = 2.0
MAX_ERROR_BYTES = 16 * 1024
FORWARDED = ("x-amzn-sagemaker-custom-attributes", "x-amzn-sagemaker-session-id", "x-amzn-sagemaker-inference-id")


class SageMakerHttp(HttpPlane):
    """The HTTP/1.1 runtime plane. `endpoints` maps endpoint names to the base URLs of their containers."""

    service = "sagemaker"
    title = "the SageMaker runtime plane"
    message_member = "Message"
    max_body_bytes = 6_291_456

    def __init__(
        self,
        endpoints: Mapping[str, str],
        *,
        credentials: Credentials,
        region: str = "us-east-1",
        port: int = 0,
        respond_s: float = RESPOND_S,
    ) -> None:
        super().__init__(credentials=credentials, region=region, port=port)
        self._endpoints = dict(endpoints)
        self._respond_s = respond_s

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/endpoints/{name}/invocations", self._invoke, methods=["POST"]),
            Route("/endpoints/{name}/invocations-response-stream", self._invoke_stream, methods=["POST"]),
        ]

    async def open(self, life: AsyncExitStack) -> None:
        self._client = await life.enter_async_context(upstream_client(connect_s=CONNECT_S, respond_s=self._respond_s))

    async def _invoke(self, request: Request) -> Response:
        accept = request.headers.get("accept", "*/*")
        async with AsyncExitStack() as life:
            answer = await self._ask(request, accept, life)
            headers = {
                "content-type": answer.headers.get("content-type", "application/octet-stream"),
                "x-amzn-invoked-production-variant": "AllTraffic",
                "x-amzn-requestid": str(uuid.uuid4()),
            }
            return RelayResponse(_pieces(answer, life.pop_all()), headers=headers)

    async def _invoke_stream(self, request: Request) -> Response:
        accept = request.headers.get("x-amzn-sagemaker-accept", "*/*")
        async with AsyncExitStack() as life:
            answer = await self._ask(request, accept, life)
            headers = {
                "x-amzn-sagemaker-content-type": answer.headers.get("content-type", "application/octet-stream"),
                "x-amzn-invoked-production-variant": "AllTraffic",
                "x-amzn-requestid": str(uuid.uuid4()),
            }
            return RelayResponse(_payload_parts(answer, life.pop_all()), headers=headers, media_type=CONTENT_TYPE)

    async def _ask(self, request: Request, accept: str, life: AsyncExitStack) -> httpx.Response:
        """The container's answer, its body not read yet; `life` closes it."""
        body = await self.read_signed_body(request)
        name = request.path_params["name"]
        base = self._endpoints.get(name)
        if base is None:
            raise RequestRefused(400, "ValidationError", f"Endpoint {name} of account 000000000000 not found.")
        headers = {"content-type": request.headers.get("content-type", "application/octet-stream"), "accept": accept}
        headers |= {key: value for key in FORWARDED if (value := request.headers.get(key)) is not None}
        asking = self._client.stream("POST", base.rstrip("/") + "/invocations", content=body, headers=headers)
        try:
            answer = await until_hangup(request.receive, _entered(asking, life))
            if answer.status_code < 400:
                return answer
            original = await _error_text(answer)
        except httpx.TimeoutException as error:
            raise _model_error(
                0, f"The container did not respond within {self._respond_s:g} seconds.", "ModelNotResponding"
            ) from error
        except httpx.HTTPError as error:
            raise _model_error(0, "The container could not be reached.", "ModelNotReachable") from error
        raise _model_error(answer.status_code, original)


async def _entered(asking: AbstractAsyncContextManager[httpx.Response], life: AsyncExitStack) -> httpx.Response:
    return await life.enter_async_context(asking)


def _model_error(status: int, original: str, code: str | None = None) -> RequestRefused:
    message = f'Received server error ({status}) from primary with message "{original}".' if status else original
    extra: dict[str, object] = {"OriginalStatusCode": status, "OriginalMessage": original, "LogStreamArn": ""}
    return RequestRefused(424, "ModelError", message, extra | ({"ErrorCode": code} if code else {}))


async def _error_text(answer: httpx.Response) -> str:
    text = bytearray()
    async for piece in answer.aiter_bytes():
        text += piece
        if len(text) >= MAX_ERROR_BYTES:
            break
    return bytes(text[:MAX_ERROR_BYTES]).decode("utf-8", "replace")


@asynccontextmanager
async def _pieces(answer: httpx.Response, life: AsyncExitStack) -> AsyncIterator[AsyncIterator[bytes]]:
    async with life:
        yield answer.aiter_bytes()


@asynccontextmanager
async def _payload_parts(answer: httpx.Response, life: AsyncExitStack) -> AsyncIterator[AsyncIterator[bytes]]:
    async def parts() -> AsyncGenerator[bytes]:
        try:
            async for piece in answer.aiter_bytes():
                yield encode_event("PayloadPart", piece)
        except httpx.HTTPError as error:
            log.warning("the container failed in mid answer: %s", type(error).__name__)
            message = "The container ended its answer before it was complete."
            yield encode_exception("ModelStreamError", {"Message": message, "ErrorCode": "StreamBroken"})

    async with life, aclosing(parts()) as events:
        yield events
