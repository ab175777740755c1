"""Trusted and untrusted certificates are tried in `tests/contract/transports`, which has an authority."""

import asyncio
import socket

from speech_client.certificates import check_certificate


async def test_nobody_listening_says_nothing_about_certificates() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    await check_certificate("127.0.0.1", port, None)


async def test_a_server_without_tls_says_nothing_about_certificates() -> None:
    asked = asyncio.Event()

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        writer.write(b"what?\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        await check_certificate("127.0.0.1", server.sockets[0].getsockname()[1], None)
    assert asked.is_set()
