"""What both sides of the planes need: patience, a certificate, keys, and boto3 or a signed POST to call with."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials
from local_cloud.certificates import Certificates, create_certificates
from local_cloud.signatures import Credentials

REGION = "us-east-1"
PATIENCE_S = 30.0


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
