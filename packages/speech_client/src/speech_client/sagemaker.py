"""Sessions over SageMaker's bidirectional streaming, through the real SDK client.

One PayloadPart is one WebSocket frame at the container: `DataType` UTF8 is a text frame, `CompletionState` PARTIAL …
COMPLETE are its fragments. What the SDK (aws-sdk-sagemaker-runtime-http2 0.12.0) leaves to its users, and is dealt
with here:

- its default address lacks the port, so the endpoint's address is always set;
- a call without usable credentials never returns, so they are found first; a name that cannot be signed is refused
  first;
- sends are signed one after the other, each from the one before: `send` is called by one task and never cancelled;
- whether the connection stands is only known from the first `receive`, since the service may answer after the first
  message;
- a stream that just ends looks the same whoever ended it: the session decides by whether it had said goodbye.
"""

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# the SDK ships no type information
from aws_sdk_sagemaker_runtime_http2 import models
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from smithy_aws_core.identity import AWSCredentialsIdentity, StaticCredentialsResolver

from .credentials import AwsCredentials, CredentialSource, DefaultCredentials
from .errors import SpeechCredentialsError, SpeechSessionEnded, SpeechUsageError
from .http2 import CrtError, DuplexHttp2Client, TlsTrust
from .sagemaker_errors import SDK_ERRORS, connect_error, stream_error
from .transport import Message

ENDPOINT_PORT = 8443  # documented for InvokeEndpointWithBidirectionalStream, and missing from the SDK's own address
_ENDPOINT_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")  # the API reference's pattern for EndpointName
_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class SageMakerTransport:
    """Opens streams to `endpoint_name` in `region`.

    `endpoint_uri`: another address than `https://runtime.sagemaker.<region>.amazonaws.com:8443`, for loopback and VPC
    endpoints. `ca_file`: PEM authorities to trust instead of the system's. `credentials`: the default chain, see
    `DefaultCredentials`. Raises `SpeechUsageError` for arguments that cannot be right.
    """

    def __init__(
        self,
        endpoint_name: str,
        region: str,
        *,
        endpoint_uri: str | None = None,
        ca_file: str | Path | None = None,
        credentials: CredentialSource | None = None,
    ) -> None:
        if not _ENDPOINT_NAME.fullmatch(endpoint_name):
            raise SpeechUsageError(
                f"an endpoint's name is 1 to 63 letters, digits and inner hyphens, no ARN; {endpoint_name!r} came"
            )
        if not _REGION.fullmatch(region):
            raise SpeechUsageError(f"a region looks like us-east-1; {region!r} came")
        uri = endpoint_uri or f"https://runtime.sagemaker.{region}.amazonaws.com:{ENDPOINT_PORT}"
        if urlsplit(uri).scheme != "https" or not urlsplit(uri).hostname:
            raise SpeechUsageError(
                f"an endpoint's address looks like https://host:{ENDPOINT_PORT}, TLS included; {uri!r} came"
            )
        self._endpoint_name = endpoint_name
        self._region = region
        self._uri = uri
        self._trust = TlsTrust() if ca_file is None else _trust(Path(ca_file))
        self._credentials = credentials or DefaultCredentials()

    async def connect(self) -> "SageMakerConnection":
        """Start a stream. Whether it stands is known from the first `receive`, which raises `SpeechConnectError`."""
        http = DuplexHttp2Client(self._trust)
        client = AsyncSageMakerRuntimeHTTP2Client(config=await self._configure(http, await self._credentials.current()))
        call = models.InvokeEndpointWithBidirectionalStreamInput(endpoint_name=self._endpoint_name)
        opening = asyncio.create_task(client.invoke_endpoint_with_bidirectional_stream(call))
        try:
            stream = await asyncio.shield(
                opening
            )  # it signs and returns; a cancel inside would orphan the SDK's own tasks
        except asyncio.CancelledError:
            await asyncio.wait({opening}, timeout=1)
            opening.cancel()
            await asyncio.wait({opening})
            if not opening.cancelled() and opening.exception() is None:
                await SageMakerConnection(client, opening.result(), self._describe()).close(0)
            raise
        return SageMakerConnection(client, stream, self._describe())

    def _describe(self) -> str:
        return f"endpoint {self._endpoint_name!r} at {self._uri}"

    async def _configure(self, http: DuplexHttp2Client, keys: AwsCredentials) -> Any:
        identity = AWSCredentialsIdentity(
            access_key_id=keys.access_key_id,
            secret_access_key=keys.secret_access_key,
            session_token=keys.session_token,
        )
        try:
            return await AsyncSageMakerRuntimeHTTP2Config.resolve(
                endpoint_uri=self._uri,
                region=self._region,
                transport=http,
                aws_credentials_identity_resolver=StaticCredentialsResolver(identity),
            )
        except SDK_ERRORS as error:
            raise SpeechCredentialsError(
                "the shared AWS config files cannot be used: check AWS_PROFILE, AWS_CONFIG_FILE and what they name"
            ) from error


class SageMakerConnection:
    """One duplex event stream, and the client that it alone uses."""

    def __init__(self, client: Any, stream: Any, where: str) -> None:
        self._client = client
        self._stream = stream
        self._where = where
        self._output: Any = None
        self._asked = False  # somebody awaits, or has awaited, the service's answer
        self._ended = asyncio.Event()
        self._closed = False

    async def send(self, text: str) -> None:
        """Send one PayloadPart with DataType UTF8; waits while sixteen are unsent."""
        await self._send(models.RequestPayloadPart(bytes_=text.encode(), data_type="UTF8", completion_state="COMPLETE"))

    async def send_binary(self, data: bytes) -> None:
        """Send one PayloadPart without DataType, which arrives as a binary frame; sessions never do, checks do."""
        await self._send(models.RequestPayloadPart(bytes_=data, completion_state="COMPLETE"))

    async def _send(self, part: models.RequestPayloadPart) -> None:
        try:
            await self._stream.input_stream.send(models.RequestStreamEventPayloadPart(value=part))
        except (OSError, *SDK_ERRORS) as error:
            raise SpeechSessionEnded(f"{self._where} takes nothing more: the stream has ended") from error

    async def receive(self) -> Message | None:
        """The next PayloadPart. The first call waits for the service's own answer."""
        try:
            message = await self._receive()
        except BaseException:
            self._ended.set()
            raise
        if message is None:
            self._ended.set()
        return message

    async def close(self, grace_s: float) -> None:
        """End our side, wait for the service to end its own while somebody receives, then drop the connection."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(grace_s):
                await self._stream.input_stream.close()
                await self._ended.wait()
        except TimeoutError:
            pass  # it had its time
        except (OSError, *SDK_ERRORS):
            pass  # there is no stream left to end
        finally:
            await self._client.close()
            await self._stop_sdk()

    async def _stop_sdk(self) -> None:
        """End the tasks in which the SDK waits for an answer that nobody has asked for."""
        if not self._asked:
            answer = asyncio.create_task(self._stream.await_output())
            await asyncio.wait({answer}, timeout=0)
            answer.cancel()
            await asyncio.wait({answer})
            if not answer.cancelled():
                answer.exception()  # the call failed, and was not wanted any more

    async def _receive(self) -> Message | None:
        if self._output is None:
            self._asked = True
            try:
                _, self._output = await self._stream.await_output()
            except (OSError, RuntimeError, CrtError, *SDK_ERRORS) as error:
                raise connect_error(error, self._where) from error
        while True:
            try:
                event = await self._output.receive()
            except (OSError, RuntimeError, CrtError, *SDK_ERRORS) as error:
                raise stream_error(error, self._where) from error
            if event is None:
                return None
            if isinstance(event, models.ResponseStreamEventPayloadPart):
                part = event.value
                return Message(part.bytes_ or b"", part.data_type == "UTF8", part.completion_state != "PARTIAL")


def _trust(ca_file: Path) -> TlsTrust:
    try:
        return TlsTrust(ca_file.read_bytes())
    except OSError as error:
        raise SpeechUsageError(f"ca_file {str(ca_file)!r} cannot be read") from error
    except ValueError as error:
        raise SpeechUsageError(f"ca_file {str(ca_file)!r} is not a PEM file of certificate authorities") from error
