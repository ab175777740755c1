"""Counting bytes on a TCP connection: a relay on loopback between a client and a server, which changes nothing."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit


class WireTap:
    """What has passed since it was opened, in bytes of TCP payload: HTTP heads and framing included."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self.url = ""
        self.up_bytes = 0
        self.down_bytes = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, both ways, until either side ends it."""
        target_reader, target_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        up = asyncio.create_task(self._carry(reader, target_writer, up=True))
        down = asyncio.create_task(self._carry(target_reader, writer, up=False))
        await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        for task, end in ((up, target_writer), (down, writer)):
            task.cancel()
            end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, up: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                if up:
                    self.up_bytes += len(data)
                else:
                    self.down_bytes += len(data)
                writer.write(data)
                await writer.drain()


@contextlib.asynccontextmanager
async def tapped(url: str) -> AsyncIterator[WireTap]:
    """A relay to the server at `url`; the tap's own `url` leads there too."""
    tap = WireTap(url)
    server = await asyncio.start_server(tap.serve, "127.0.0.1", 0)
    async with server:
        tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield tap
