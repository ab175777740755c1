"""What can be seen without a server; `tests/contract/transports` has the rest, through the gateway."""

import asyncio
import socket
from pathlib import Path

import pytest
from speech_client import (
    AwsCredentials,
    SageMakerTransport,
    SpeechCredentialsError,
    SpeechSession,
    SpeechUnreachableError,
    SpeechUsageError,
    StaticCredentials,
)

KEYS = StaticCredentials(AwsCredentials("AKID", "secret"))


@pytest.mark.parametrize("name", ["", "-x", "x-", "a_b", "a/b", "arn:aws:sagemaker:us-east-1:1:endpoint/x", "x" * 64])
def test_a_name_that_no_endpoint_can_have_is_refused(name: str) -> None:
    with pytest.raises(SpeechUsageError, match="1 to 63 letters"):
        SageMakerTransport(name, "us-east-1")


@pytest.mark.parametrize("region", ["", "US East", "us-east-1/", "evil.example#"])
def test_a_region_that_would_change_the_address_is_refused(region: str) -> None:
    with pytest.raises(SpeechUsageError, match="looks like us-east-1"):
        SageMakerTransport("kokoro", region)


@pytest.mark.parametrize("uri", ["http://localhost:8443", "localhost:8443", "https://"])
def test_an_address_without_tls_or_host_is_refused(uri: str) -> None:
    with pytest.raises(SpeechUsageError, match="https://host:8443"):
        SageMakerTransport("kokoro", "us-east-1", endpoint_uri=uri)


def test_authorities_that_cannot_be_read_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SpeechUsageError, match="cannot be read"):
        SageMakerTransport("kokoro", "us-east-1", ca_file=tmp_path / "none.pem")


def test_authorities_that_are_none_are_refused(tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    ca_file.write_text("this is no certificate")
    with pytest.raises(SpeechUsageError, match="not a PEM file"):
        SageMakerTransport("kokoro", "us-east-1", ca_file=ca_file)


@pytest.mark.usefixtures("no_aws")
async def test_without_credentials_nothing_is_called() -> None:
    with pytest.raises(SpeechCredentialsError, match="no AWS credentials found"):
        await SageMakerTransport("kokoro", "us-east-1").connect()


@pytest.mark.usefixtures("no_aws")
async def test_a_profile_that_the_sdk_cannot_find_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(SpeechCredentialsError, match="AWS_PROFILE"):
        await SageMakerTransport("kokoro", "us-east-1", credentials=KEYS).connect()


@pytest.mark.usefixtures("no_aws")
async def test_a_refused_connection_is_an_error_and_leaves_nothing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        uri = f"https://127.0.0.1:{unused.getsockname()[1]}"
    transport = SageMakerTransport("kokoro", "us-east-1", endpoint_uri=uri, credentials=KEYS)
    with pytest.raises(SpeechUnreachableError, match=r"nothing answers for endpoint 'kokoro'.*CONNECTION_REFUSED"):
        async with SpeechSession.connect(transport):
            pass


@pytest.mark.usefixtures("no_aws")
async def test_a_connection_that_is_never_used_can_be_closed() -> None:
    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await given_up.wait()
        writer.close()

    given_up = asyncio.Event()

    async with await asyncio.start_server(never_answer, "127.0.0.1", 0) as server:
        uri = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport = SageMakerTransport("kokoro", "us-east-1", endpoint_uri=uri, credentials=KEYS)
        connection = await transport.connect()
        await connection.send('{"type": "hello"}')
        receiving = asyncio.create_task(connection.receive())
        await asyncio.sleep(0)
        await connection.close(0)
        await connection.close(0)
        receiving.cancel()
        await asyncio.wait({receiving})
        given_up.set()


@pytest.mark.usefixtures("no_aws")
async def test_opening_can_be_cancelled_at_any_step() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        uri = f"https://127.0.0.1:{unused.getsockname()[1]}"
    transport = SageMakerTransport("kokoro", "us-east-1", endpoint_uri=uri, credentials=KEYS)
    cut_short = finished = 0
    while finished < 3:
        opening = asyncio.create_task(transport.connect())
        for _ in range(cut_short):
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.wait({opening})
        if opening.cancelled():
            cut_short += 1
        else:
            finished += 1
            connection = opening.result()
            receiving = asyncio.create_task(connection.receive())
            await connection.close(0)
            with pytest.raises(SpeechUnreachableError):
                await receiving
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert cut_short > 3
