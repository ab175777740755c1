"""What can be seen of the HTTP/2 client without a server; `tests/contract/transports` has the rest."""

import copy
import socket

import pytest
from smithy_core import URI
from smithy_core.aio.types import AsyncBytesProvider
from smithy_http import Fields
from smithy_http.aio import HTTPRequest
from speech_client.http2 import CrtError, DuplexHttp2Client, TlsTrust


def request(scheme: str = "https", port: int = 1) -> HTTPRequest:
    uri = URI(scheme=scheme, host="127.0.0.1", port=port, path="/")
    return HTTPRequest(destination=uri, method="POST", fields=Fields(), body=AsyncBytesProvider())


def test_copies_of_a_configuration_share_the_one_connection() -> None:
    client = DuplexHttp2Client(TlsTrust())
    assert copy.deepcopy({"transport": client})["transport"] is client


async def test_plain_http_is_refused() -> None:
    client = DuplexHttp2Client(TlsTrust())
    with pytest.raises(ValueError, match="begins with https://"):
        await client.send(request("http"))
    await client.close()


async def test_nobody_listening_is_reported_as_awscrt_says_it() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    client = DuplexHttp2Client(TlsTrust())
    with pytest.raises(CrtError) as caught:
        await client.send(request(port=port))
    assert caught.value.name == "AWS_IO_SOCKET_CONNECTION_REFUSED"
    await client.close()


async def test_publishers_that_wait_for_room_are_freed_by_closing() -> None:
    sending = request()
    client = DuplexHttp2Client(TlsTrust())
    with pytest.raises(CrtError):
        await client.send(sending)
    await client.close()
    assert isinstance(sending.body, AsyncBytesProvider)
    assert sending.body.closed


async def test_a_closed_client_carries_nothing() -> None:
    client = DuplexHttp2Client(TlsTrust())
    await client.close()
    with pytest.raises(RuntimeError, match="carries one call"):
        await client.send(request())


def test_authorities_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="PEM"):
        TlsTrust(b"this is no certificate")
