"""What keeps a session from opening is told by its name, over both transports or the one that knows it."""

import asyncio
import ssl
from pathlib import Path

import pytest
from local_cloud.certificates import Certificates, create_certificates
from local_cloud.signatures import Credentials
from speech_client import (
    SageMakerTransport,
    SpeechAccessDeniedError,
    SpeechCredentialsError,
    SpeechEndpointNotFoundError,
    SpeechRefusedError,
    SpeechSession,
    SpeechTlsError,
    SpeechUnreachableError,
    WebSocketTransport,
    spell,
)
from speech_client.certificates import check_certificate

from tests.contract.transports.conftest import PATIENT, free_port, listen, opened, sound, speech


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
