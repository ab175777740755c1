"""boto3's sagemaker-runtime against the plane, with a real HTTP container behind it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError
from local_cloud.loopback import AppServer
from local_cloud.sagemaker_http import SageMakerHttp
from local_cloud.signatures import Credentials
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from packages.local_cloud.tests.conftest import signed_post, soon

BotoClient = Callable[..., Any]


class HttpContainer:
    """A container for `/invocations` that says what it was asked and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.pieces = [b"RIFF", b"audio"]
        self.go_on = asyncio.Event()
        self.first_sent = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.breaks = False
        self.server = AppServer(Starlette(routes=[Route("/invocations", self._answer, methods=["POST"])]), what="it")

    async def _answer(self, request: Request) -> Response:
        self.requests.append((dict(request.headers), await request.body()))
        if self.status != 200:
            return Response('{"error": "voice unknown"}', self.status)
        return StreamingResponse(self._body(), media_type="audio/wav")

    async def _body(self) -> AsyncIterator[bytes]:
        try:
            for piece in self.pieces:
                yield piece
                self.first_sent.set()
                await self.go_on.wait()
            if self.breaks:
                raise ConnectionResetError
        except asyncio.CancelledError:
            self.hung_up.set()
            raise


@pytest.fixture
async def container() -> AsyncIterator[HttpContainer]:
    made = HttpContainer()
    made.go_on.set()
    async with made.server:
        yield made


@pytest.fixture
async def plane(container: HttpContainer, credentials: Credentials) -> AsyncIterator[SageMakerHttp]:
    endpoints = {"kokoro": container.server.url, "dead": "http://127.0.0.1:9"}
    async with SageMakerHttp(endpoints, credentials=credentials) as serving:
        yield serving


async def test_invoke_endpoint_passes_body_and_headers_both_ways(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient
) -> None:
    boto = boto_client("sagemaker-runtime", plane.url)
    answer = await asyncio.to_thread(
        boto.invoke_endpoint,
        EndpointName="kokoro",
        Body=b'{"text": "Hello."}',
        ContentType="application/json",
        Accept="audio/wav",
        CustomAttributes="a=1",
    )
    assert await asyncio.to_thread(answer["Body"].read) == b"RIFFaudio"
    assert answer["ContentType"] == "audio/wav"
    assert answer["InvokedProductionVariant"] == "AllTraffic"
    ((headers, body),) = container.requests
    assert body == b'{"text": "Hello."}'
    assert headers["content-type"] == "application/json"
    assert headers["accept"] == "audio/wav"
    assert headers["x-amzn-sagemaker-custom-attributes"] == "a=1"
    assert "authorization" not in headers


async def test_a_response_stream_brings_each_piece_as_it_is_made(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient
) -> None:
    container.go_on.clear()
    boto = boto_client("sagemaker-runtime", plane.url)
    answer = await asyncio.to_thread(
        boto.invoke_endpoint_with_response_stream,
        EndpointName="kokoro",
        Body=b"{}",
        ContentType="application/json",
        Accept="audio/pcm",
    )
    events = iter(answer["Body"])
    first = await asyncio.to_thread(next, events)
    assert first == {"PayloadPart": {"Bytes": b"RIFF"}}
    assert not container.go_on.is_set()
    container.go_on.set()
    assert await asyncio.to_thread(list, events) == [{"PayloadPart": {"Bytes": b"audio"}}]
    assert answer["ContentType"] == "audio/wav"
    assert container.requests[0][0]["accept"] == "audio/pcm"


async def refused(call: Callable[..., Any], **arguments: Any) -> ClientError:
    with pytest.raises(ClientError) as raised:
        await asyncio.to_thread(call, **arguments)
    return raised.value


@pytest.mark.parametrize("operation", ["invoke_endpoint", "invoke_endpoint_with_response_stream"])
async def test_errors_have_the_services_shape(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient, operation: str
) -> None:
    call = getattr(boto_client("sagemaker-runtime", plane.url), operation)
    unknown = await refused(call, EndpointName="nobody", Body=b"{}")
    assert unknown.response["Error"]["Code"] == "ValidationError"
    assert unknown.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    container.status = 400
    failed = await refused(call, EndpointName="kokoro", Body=b"{}")
    assert failed.response["Error"]["Code"] == "ModelError"
    assert failed.response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert failed.response["OriginalStatusCode"] == 400
    assert json.loads(failed.response["OriginalMessage"]) == {"error": "voice unknown"}
    dead = await refused(call, EndpointName="dead", Body=b"{}")
    assert dead.response["Error"]["Code"] == "ModelError"


async def test_a_body_at_the_limit_passes_and_one_byte_more_is_refused(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient
) -> None:
    call = boto_client("sagemaker-runtime", plane.url).invoke_endpoint
    await asyncio.to_thread(call, EndpointName="kokoro", Body=bytes(6_291_456))
    assert len(container.requests[0][1]) == 6_291_456
    error = await refused(call, EndpointName="kokoro", Body=bytes(6_291_457))
    assert error.response["Error"]["Code"] == "ValidationError"
    assert len(container.requests) == 1


async def test_the_wrong_secret_reaches_no_container(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient
) -> None:
    boto = boto_client("sagemaker-runtime", plane.url, Credentials("AKIALOCALTEST", "guess"))
    error = await refused(boto.invoke_endpoint, EndpointName="kokoro", Body=b"{}")
    assert error.response["Error"]["Code"] == "InvalidSignatureException"
    assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert container.requests == []


async def test_a_container_that_breaks_off_is_a_model_stream_error(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient
) -> None:
    container.breaks = True
    boto = boto_client("sagemaker-runtime", plane.url)
    answer = await asyncio.to_thread(boto.invoke_endpoint_with_response_stream, EndpointName="kokoro", Body=b"{}")
    with pytest.raises(EventStreamError, match="ModelStreamError"):
        await asyncio.to_thread(list, answer["Body"])


async def test_a_caller_that_hangs_up_ends_the_request_to_the_container(
    container: HttpContainer, plane: SageMakerHttp, boto_client: BotoClient
) -> None:
    container.go_on.clear()
    boto = boto_client("sagemaker-runtime", plane.url)
    answer = await asyncio.to_thread(boto.invoke_endpoint_with_response_stream, EndpointName="kokoro", Body=b"{}")
    await asyncio.to_thread(next, iter(answer["Body"]))
    await asyncio.to_thread(answer["Body"].close)
    await soon(container.hung_up.wait())


async def test_a_caller_that_hangs_up_before_the_answer_ends_the_request_too(credentials: Credentials) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        left.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, SageMakerHttp({"kokoro": base}, credentials=credentials) as plane:
        async with signed_post(plane.url, "/endpoints/kokoro/invocations", "sagemaker", b"", credentials):
            await soon(asked.wait())
        await soon(left.wait())


async def test_a_container_that_does_not_respond_is_a_model_error(
    credentials: Credentials, boto_client: BotoClient
) -> None:
    release = asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, SageMakerHttp({"kokoro": base}, credentials=credentials, respond_s=0.1) as plane:
        error = await refused(
            boto_client("sagemaker-runtime", plane.url).invoke_endpoint, EndpointName="kokoro", Body=b"{}"
        )
        release.set()
    assert error.response["Error"]["Code"] == "ModelError"
    assert "did not respond within 0.1 seconds" in error.response["Error"]["Message"]
