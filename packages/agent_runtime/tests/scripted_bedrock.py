"""A Bedrock that real boto3 talks to, over loopback HTTP, answering as it is told to."""

import asyncio
import contextlib
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

PATIENCE_S = 10.0  # how long a test waits for what must happen; passing never takes this long


@dataclass(frozen=True)
class Refusal:
    """Instead of an answer: an HTTP error of Bedrock's."""

    status: int
    code: str
    message: str = "the service's own secret words"


@dataclass(frozen=True)
class Fault:
    """In mid stream: an exception event of Bedrock's, or the connection cut where `code` is None."""

    code: str | None = None


@dataclass(frozen=True)
class UseTool:
    """The model asks for a tool, which ends what it writes in this call."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)


Step = str | asyncio.Event | Fault | UseTool


@dataclass
class Script:
    """One answer: texts, events to wait for, faults. `before_headers`: waited for before anything is answered."""

    steps: Sequence[Step] = ()
    before_headers: asyncio.Event | None = None
    stop_reason: str = "end_turn"


class ScriptedBedrock:
    """bedrock-runtime's ConverseStream on loopback HTTP, one script a call; the last one repeats."""

    def __init__(self) -> None:
        self.scripts: list[Script | Refusal] = [Script()]
        self.requests: list[dict[str, Any]] = []
        self.active = 0
        self.hang_ups = 0
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def until(self, condition: Callable[["ScriptedBedrock"], bool]) -> None:
        """Wait until `condition` holds of this server."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: condition(self))

    async def until_hung_up(self, count: int) -> None:
        """Wait until `count` callers have hung up and no stream is left."""
        await self.until(lambda server: server.hang_ups == count and server.active == 0)

    async def _note(self, *, active: int = 0, hang_ups: int = 0) -> None:
        async with self._changed:
            self.active += active
            self.hang_ups += hang_ups
            self._changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)  # one call a connection, and the client may hang up

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:"))
        self.requests.append(json.loads(await reader.readexactly(length)))
        script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
        if isinstance(script, Refusal):
            await self._note()
            body = json.dumps({"message": script.message}).encode()
            writer.write(
                f"HTTP/1.1 {script.status} No\r\nx-amzn-errortype: {script.code}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
                + body
            )
            return
        await self._note(active=1)
        gone = asyncio.create_task(reader.read(1))  # nothing more is sent: returns when the client hangs up
        talking = asyncio.create_task(self._stream(script, writer))
        try:
            await asyncio.wait({gone, talking}, return_when=asyncio.FIRST_COMPLETED)
            hung_up = not talking.done() or isinstance(talking.exception(), ConnectionError)
        finally:
            talking.cancel()
            gone.cancel()
            await asyncio.wait({gone, talking})
        await self._note(active=-1, hang_ups=hung_up)

    async def _stream(self, script: Script, writer: asyncio.StreamWriter) -> None:
        if script.before_headers is not None:
            await script.before_headers.wait()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await _send(writer, "messageStart", {"role": "assistant"})
        for step in script.steps:
            match step:
                case str():
                    await _send(writer, "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": step}})
                case asyncio.Event():
                    await step.wait()
                case UseTool():
                    await _use_tool(writer, step)
                case Fault(code=None):
                    writer.transport.abort()
                    return
                case Fault(code=code):
                    await _send(writer, code or "", {"message": "the service's own secret words"}, kind="exception")
        uses_tool = any(isinstance(step, UseTool) for step in script.steps)
        if not uses_tool:
            await _send(writer, "contentBlockStop", {"contentBlockIndex": 0})
        await _send(writer, "messageStop", {"stopReason": "tool_use" if uses_tool else script.stop_reason})
        await _send(
            writer,
            "metadata",
            {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}},
        )
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _use_tool(writer: asyncio.StreamWriter, step: UseTool) -> None:
    await _send(writer, "contentBlockStop", {"contentBlockIndex": 0})
    start = {"toolUse": {"toolUseId": "tool-1", "name": step.name}}
    await _send(writer, "contentBlockStart", {"contentBlockIndex": 1, "start": start})
    delta = {"toolUse": {"input": json.dumps(step.fields)}}
    await _send(writer, "contentBlockDelta", {"contentBlockIndex": 1, "delta": delta})
    await _send(writer, "contentBlockStop", {"contentBlockIndex": 1})


async def _send(writer: asyncio.StreamWriter, name: str, body: dict[str, Any], kind: str = "event") -> None:
    frame = _frame({f":{kind}-type": name, ":message-type": kind, ":content-type": "application/json"}, body)
    writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
    await writer.drain()


def _frame(headers: dict[str, str], body: dict[str, Any]) -> bytes:
    """One message of AWS's event stream encoding: prelude, its CRC, headers, payload, CRC of all."""
    packed = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    payload = json.dumps(body).encode()
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack(">I", zlib.crc32(message))
