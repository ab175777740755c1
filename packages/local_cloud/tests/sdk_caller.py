"""The real SageMaker HTTP/2 client, which trusts one authority."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
)
from awscrt import io as crt_io
from local_cloud.signatures import Credentials
from smithy_http.aio.crt import AWSCRTHTTPClient, AWSCRTHTTPClientConfig

from packages.local_cloud.tests.conftest import REGION, soon


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
