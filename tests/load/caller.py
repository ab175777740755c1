"""One WebSocket client that notices everything: each frame that comes is held against the ledger of its session."""

import asyncio
import contextlib
import json
import random
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any, Final, Self

from speech_protocol import (
    Audio,
    ErrorEvent,
    MessageError,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
    Text,
    parse_message,
)
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.load.ledger import Ledger, Violation
from tests.load.target import PATIENCE_S, Target

SMALL_BUFFER_BYTES: Final = 4096
_RESET: Final = struct.pack("ii", 1, 0)


class TurnedAway(Exception):
    """The server had no room for this session, and said so."""


class Caller:
    """One session. `read_pause_s`: how long it takes over each frame; None: it does not read at all."""

    def __init__(self, connection: ClientConnection, target: Target, name: str, read_pause_s: float | None) -> None:
        self.ledger = Ledger(target.limits)
        self.name = name
        self.is_gone = False
        """The connection has ended."""
        self.frames = 0
        self.close_codes: set[int] = set()
        """With which the server may end the session by itself."""
        self._connection = connection
        self._target = target
        self._record = target.record
        self._read_pause_s = read_pause_s
        self._numbers = 0
        self._said_close = False
        self._sounds: dict[str, Hashable] = {}
        self._audio = bytearray()
        self._lately: deque[str] = deque(maxlen=30)
        self._changed = asyncio.Event()
        self._reader = asyncio.create_task(self._read(), name=f"{name}-reader")

    @classmethod
    @asynccontextmanager
    async def open(cls, target: Target, name: str, *, read_pause_s: float | None = 0.0) -> AsyncIterator[Self]:
        """A session; whatever it still owes and is owed at the end, is of a client that went away."""
        options: dict[str, Any] = {}
        if read_pause_s != 0.0:
            raw = socket.socket()
            raw.setblocking(False)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
            await asyncio.get_running_loop().sock_connect(raw, target.address)
            options = {"sock": raw, "max_queue": 1}
        connection = await connect(
            target.session_url,
            max_size=None,
            compression=None,
            ping_interval=None,
            proxy=None,
            open_timeout=60,
            **options,
        )
        caller = cls(connection, target, name, read_pause_s)
        try:
            yield caller
        finally:
            await caller._end()

    @property
    def is_cut(self) -> bool:
        """Whether the connection takes nothing more, as far as somebody sees who does not read."""
        return self.is_gone or self._connection.transport.is_closing()

    def new_id(self) -> str:
        """An id that no other request of the run has."""
        self._numbers += 1
        return f"{self.name}.{self._numbers}"

    async def send(self, message: bytes | str | None = None, /, *, sound: Hashable = None, **fields: Any) -> None:
        """A message as it is, or its fields. `sound`: requests of which it is the same must sound the same."""
        data = json.dumps(fields) if message is None else message
        self._note(data, sound)
        self._lately.append(f"> {data[:150]!r}")
        self.ledger.sent(data)
        try:
            await self._connection.send(data)
        except ConnectionClosed:  # the reader sees why
            await asyncio.sleep(0)

    async def send_fragments(self, parts: list[bytes], *, is_text: bool) -> None:
        """One message in several frames."""
        whole = b"".join(parts)
        data = whole.decode() if is_text else whole
        self._note(data, None)
        self.ledger.sent(data)
        with contextlib.suppress(ConnectionClosed):
            if is_text:  # websockets cuts text at whole characters; the wire need not
                await self._connection.send(iter([data[: len(data) // 2], data[len(data) // 2 :]]))
            else:
                await self._connection.send(iter(parts))

    async def ping(self) -> None:
        """A ping of the WebSocket's own, answered in time."""
        with contextlib.suppress(ConnectionClosed):
            waiter = await self._connection.ping()
            async with asyncio.timeout(PATIENCE_S):
                await waiter

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what `holds` is about.

        Raises `TurnedAway`, `ConnectionResetError` where the session ends first, and `Violation` where it never comes.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():
                    if self.ledger.is_turned_away:
                        raise TurnedAway
                    if self.is_gone:
                        raise ConnectionResetError(f"the session ended with {self._connection.close_code}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise Violation(f"nothing for {PATIENCE_S:g} s; owed {self.ledger.owed[:3]}") from None

    async def answers(self, left: int = 0) -> None:
        """Wait until so few answers are owed."""
        await self.until(lambda: len(self.ledger.owed) <= left)

    async def leave(self) -> None:
        """Close as the protocol has it."""
        self._said_close = True
        await self.send(type="close")
        await self.until(lambda: self.ledger.is_over)

    async def gone(self) -> None:
        """Wait until the server has ended the connection."""
        await self.until_gone(PATIENCE_S)

    async def until_gone(self, patience_s: float) -> None:
        """Wait, so long at most, until the server has ended the connection. Raises `Violation`."""
        done, _ = await asyncio.wait({self._reader}, timeout=patience_s)
        if not done:
            raise Violation(f"the server still has a connection that it should have ended {patience_s:g} s ago")

    def read_on(self) -> None:
        """From now on, read whatever comes."""
        self._read_pause_s = 0.0
        self._changed.set()

    async def drop(self, chance: random.Random) -> None:
        """Go away without a word of the protocol's."""
        match chance.randrange(3):
            case 0:
                await self._connection.close(chance.choice((1000, 1001)))
            case 1:
                self._connection.transport.close()
            case _:
                self.reset()

    def reset(self) -> None:
        """Go away as a machine does that lost its power."""
        raw = self._connection.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):  # it may be closed already
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._connection.transport.abort()

    def _note(self, data: bytes | str, sound: Hashable) -> None:
        record, limits = self._record, self._target.limits
        try:
            message = parse_message(data, max_text_chars=limits.max_text_chars)
        except MessageError as error:
            if error.request_id is None:
                record.nameless_sent += 1
            else:
                record.sent.setdefault(error.request_id, None)
            return
        if isinstance(message, Synthesize) and message.request_id is None:
            record.nameless_sent += 1
        elif isinstance(message, Synthesize | Text):
            name = message.request_id if isinstance(message, Synthesize) else message.context_id
            assert name is not None
            record.sent.setdefault(name, None)
            if sound is not None:
                self._sounds[name] = sound

    async def _read(self) -> None:
        try:
            while True:
                while self._read_pause_s is None:
                    self._changed.clear()
                    await self._changed.wait()
                await asyncio.sleep(self._read_pause_s)
                self._take(await self._connection.recv())
        except ConnectionClosed:
            self._note_close()
        except Violation as violation:
            self._record.complain("\n    ".join((f"{self.name}: {violation}", *self._lately)))
        finally:
            self.is_gone = True
            self._changed.set()

    def _take(self, frame: bytes | str) -> None:
        self.frames += 1
        if isinstance(frame, str):
            self._lately.append(f"< {frame[:250]}")
        event = self.ledger.received(frame)
        match event:
            case Audio(data):
                self._audio += data
            case SynthesisStart(request_id):
                self._audio.clear()
                self._record.begun.add(request_id)
            case SynthesisComplete(request_id):
                if request_id in self._sounds:
                    self._record.heard(self._sounds[request_id], bytes(self._audio), self.name)
            case ErrorEvent(code="cancelled"):
                self._record.did["was told that text came too late"] += 1
            case SynthesisCancelled():
                self._record.did["was told what was heard"] += 1
        self._changed.set()

    def _note_close(self) -> None:
        code = self._connection.close_code
        is_theirs = self._connection.protocol.close_rcvd_then_sent
        if is_theirs and code not in self.close_codes and not self.ledger.is_over:
            self._record.complain(f"{self.name}: the server closed the session with {code}")

    async def _end(self) -> None:
        if self.ledger.is_turned_away:
            self._record.did["was turned away"] += 1
            self._record.nameless_sent += 1
            self._record.nameless_ended += 1
        with contextlib.suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(20):
                await self._connection.close()
        self._connection.transport.abort()
        self._reader.cancel()
        await asyncio.wait({self._reader})
        for ended in self.ledger.ended:
            self._record.saw(ended)
        for _ in self.ledger.owed:
            self._record.endings["unknown to the client"] += 1
