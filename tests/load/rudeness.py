"""Clients that do not keep to HTTP or WebSocket at all: halves of requests, broken frames, answers that nobody reads.

Whatever they do, the server ends their connections by itself, within a bounded time, and complains to nobody.
"""

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from tests.load import texts
from tests.load.caller import SMALL_BUFFER_BYTES
from tests.load.ledger import Violation
from tests.load.target import PATIENCE_S, SESSION_PATH, Target

_HANDSHAKE: Final = (
    f"GET {SESSION_PATH} HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
)
_SLACK_S: Final = 20.0  # a busy machine


@dataclass(slots=True)
class _Line:
    """A TCP connection, and nothing more."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    target: Target

    async def say(self, data: bytes) -> None:
        """As much of it as the server takes."""
        if self.writer.transport.is_closing():
            return
        try:
            self.writer.write(data)
            async with asyncio.timeout(self.target.gives_up_s):
                await self.writer.drain()
        except (ConnectionError, TimeoutError):
            return

    async def ended(self, patience_s: float) -> bytes:
        """Wait until the server has ended it, as long as it says something in so many seconds. What it said last.

        Whoever begins to read is of use again, until all that is owed has come: there is no time for that but our
        patience. Raises `Violation`.
        """
        heard = bytearray()
        try:
            async with asyncio.timeout(PATIENCE_S):
                while data := await asyncio.wait_for(self.reader.read(1 << 16), patience_s):
                    heard += data
                    del heard[:-2000]
        except ConnectionError:
            pass
        except TimeoutError:
            raise Violation(f"the server keeps a connection that is of no use; it last said {bytes(heard)!r}") from None
        return bytes(heard)


@asynccontextmanager
async def _line(target: Target, *, is_thin: bool = False) -> AsyncIterator[_Line]:
    raw = socket.socket()
    raw.setblocking(False)
    if is_thin:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
    await asyncio.get_running_loop().sock_connect(raw, target.address)
    reader, writer = await asyncio.open_connection(sock=raw, limit=1 << 12)
    try:
        yield _Line(reader, writer, target)
    finally:
        raw_socket = writer.get_extra_info("socket")
        if raw_socket is not None and raw_socket.fileno() >= 0:
            raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def leave_half_open(target: Target, chance: random.Random, name: str) -> None:
    """Begins to say something and never ends: the server does not wait for ever."""
    begun = chance.choice(
        (
            b"",
            b"POST /invo",
            b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Le",
            b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n",
            b'POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{"text": "He',
            b'POST /v1/audio/speech HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"input":\r\n',
            b"GET /ping HTTP/1.1\r\nHost: here\r\n\r\nGET /ping HTT",
            _HANDSHAKE.format(more="")[:100].encode(),
        )
    )
    target.record.nameless_sent += 1
    async with _line(target) as line:
        await line.say(begun)
        if chance.random() < 0.3:
            return
        heard = await line.ended(2 * target.gives_up_s + _SLACK_S)
        target.record.nameless_ended += heard.startswith(b"HTTP/1.1 4") and b"request_id" in heard


async def trickle(target: Target, chance: random.Random, name: str) -> None:
    """Keeps a request going with a byte now and then."""
    begun = chance.choice(
        (
            b"POST /invocations HTTP/1.1\r\nHost: here\r\nX-Slow: ",
            b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: 100000\r\n\r\n",
        )
    )
    target.record.nameless_sent += 1
    async with _line(target) as line:
        await line.say(begun)
        dripping = asyncio.create_task(_drip(line))
        heard = await line.ended(2 * target.gives_up_s + _SLACK_S)
        dripping.cancel()
        target.record.nameless_ended += heard.startswith(b"HTTP/1.1 4") and b"request_id" in heard


async def pipeline_and_read_nothing(target: Target, chance: random.Random, name: str) -> None:
    """Hundreds of requests on one connection, of which no answer is ever read."""
    long = texts.TEXTS[-1].encode()
    bodies = [b'{"text": "%s", "stream": false, "format": "wav"}' % long, b'{"text": ""}', b"nonsense"]
    async with _line(target, is_thin=True) as line:
        requests = bytearray()
        for _ in range(300):
            body = chance.choice(bodies)
            requests += b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            target.record.nameless_sent += 1
        await line.say(bytes(requests))
        await asyncio.sleep(3 * target.gives_up_s)
        await line.ended(target.gives_up_s + _SLACK_S)


async def hang_up_while_asking(target: Target, chance: random.Random, name: str) -> None:
    """A handshake, or a request, and gone."""
    said = chance.choice(
        (
            _HANDSHAKE.format(more="").encode(),
            b'POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: 23\r\n\r\n{"text": "Hello there"}',
        )
    )
    target.record.nameless_sent += 1
    async with _line(target) as line:
        await line.say(said)
        if chance.random() < 0.5:
            await asyncio.sleep(chance.random() * 0.01)


async def break_the_handshake(target: Target, chance: random.Random, name: str) -> None:
    """An upgrade that HTTP allows and WebSocket does not."""
    more = chance.choice(
        (
            "".join(f"X-{number}: y\r\n" for number in range(200)),
            f"X-Long: {'y' * 20_000}\r\n",
            "Sec-WebSocket-Version: 12\r\n",
            "Sec-WebSocket-Key: again\r\n",
            "X-Latin: \xe9\r\n",
            "Content-Length: 5\r\n",
        )
    )
    async with _line(target) as line:
        await line.say(_HANDSHAKE.format(more=more).encode("latin-1"))
        async with asyncio.timeout(target.gives_up_s + _SLACK_S):
            first = await line.reader.readline()
        if first.startswith(b"HTTP/1.1 101"):
            await line.say(_frame(0x8, b"\x03\xe8"))
        await line.ended(2 * target.gives_up_s + _SLACK_S)


async def break_frames(target: Target, chance: random.Random, name: str) -> None:
    """A session whose frames are none: the server closes it."""
    async with _line(target) as line:
        await line.say(_HANDSHAKE.format(more="").encode())
        await line.reader.readuntil(b"\r\n\r\n")
        broken = chance.choice(
            (
                b"\x81\x05hello",  # not masked
                _frame(0x3, b"what"),  # a kind that there is not
                _frame(0x1, b'{"text": "\xff\xfe"}'),  # text that is no UTF-8
                _frame(0x0, b"rest"),  # the rest of nothing
                b"\x82\xff" + struct.pack(">Q", 1 << 40) + b"\0\0\0\0" + b"x" * 1000,  # a terabyte
                _frame(0x8, b"\x03"),  # half a close code
                _frame(0x8, b"\x03\xe7"),  # 999
                _frame(0x9, b"x" * 126),  # a ping that is too long
                chance.randbytes(500),
            )
        )
        target.record.nameless_sent += 20
        await line.say(broken)
        if len(broken) == 500:  # which may be the beginning of a good frame, so the server may wait for the rest of it
            return
        await line.say(_frame(0x8, b"\x03\xe8"))
        await line.ended(2 * target.gives_up_s + _SLACK_S)


async def flood_with_pings(target: Target, chance: random.Random, name: str) -> None:
    """WebSocket pings without end, whose pongs nobody reads: they are not kept for ever either."""
    async with _line(target, is_thin=True) as line:
        await line.say(_HANDSHAKE.format(more="").encode())
        pings = _frame(0x9, b"x" * 100) * 2000
        for _ in range(100):
            await line.say(pings)


def _frame(opcode: int, payload: bytes) -> bytes:
    """One masked frame, the last of its message."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
    return bytes([0x80 | opcode]) + length + b"\0\0\0\0" + payload


async def _drip(line: _Line) -> None:
    while True:
        await line.say(b"a")
        await asyncio.sleep(0.3)
