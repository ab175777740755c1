"""A container for the far side of the planes, which shows every frame."""

import asyncio
import contextlib

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import Event, State
from websockets.server import ServerProtocol

from packages.local_cloud.tests.conftest import soon

DATA_OPCODES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class RawSocket:
    """The container's side of one WebSocket, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers_pings: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._answers_pings = answers_pings
        self._protocol = ServerProtocol()
        self._frames: list[Frame] = []
        self.path = ""
        self.pings = 0

    async def accept(self) -> None:
        while not self.path:
            self._protocol.receive_data(await self._reader.read(65536))
            for event in self._protocol.events_received():
                if isinstance(event, Request):
                    self.path = event.path
                    self._protocol.send_response(self._protocol.accept(event))
                else:
                    self._keep(event)
        await self.flush()

    async def frame(self) -> Frame | None:
        """The next data or close frame; None when the connection has ended."""
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if frame.opcode in (*DATA_OPCODES, Opcode.CLOSE):
                    return frame
                self.pings += frame.opcode is Opcode.PING
            if self._protocol.state is State.CLOSED:
                return None
            try:
                data = await self._reader.read(65536)
            except OSError:
                return None
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for event in self._protocol.events_received():
                self._keep(event)
            await self.flush()

    def _keep(self, event: Event) -> None:
        assert isinstance(event, Frame), "after the handshake there is nothing but frames"
        self._frames.append(event)

    async def message(self) -> tuple[Opcode, bytes]:
        """The next whole message."""
        frame = await self.frame()
        assert frame is not None
        opcode, data = frame.opcode, bytes(frame.data)
        while not frame.fin:
            frame = await self.frame()
            assert frame is not None
            data += bytes(frame.data)
        return opcode, data

    async def send(self, data: bytes, *, text: bool = False, fin: bool = True, more: bool = False) -> None:
        """Send one frame; `more` continues the message begun before."""
        if more:
            self._protocol.send_continuation(data, fin)
        elif text:
            self._protocol.send_text(data, fin)
        else:
            self._protocol.send_binary(data, fin)
        await self.flush()

    async def close(self, code: int, reason: str = "") -> None:
        self._protocol.send_close(code, reason)
        await self.flush()

    async def flush(self) -> None:
        for data in self._protocol.data_to_send():
            if not data:
                self._writer.close()
            elif self._answers_pings or data[0] != 0x80 | Opcode.PONG:
                self._writer.write(data)
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def abort(self) -> None:
        self._writer.transport.abort()


class RawContainer:
    """A model container that hands its sockets to the test. `opens` False: it takes connections and never answers."""

    def __init__(self, *, opens: bool = True, answers_pings: bool = True) -> None:
        self._opens = opens
        self._answers_pings = answers_pings
        self._accepted: asyncio.Queue[RawSocket] = asyncio.Queue()
        self._writers: list[asyncio.StreamWriter] = []
        self.url = ""

    async def __aenter__(self) -> "RawContainer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        if self._opens:
            socket = RawSocket(reader, writer, answers_pings=self._answers_pings)
            await socket.accept()
            self._accepted.put_nowait(socket)

    async def socket(self) -> RawSocket:
        """The next socket that the gateway opened."""
        return await soon(self._accepted.get())
