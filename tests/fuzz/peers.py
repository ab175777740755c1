"""Clients of a `Stage`: what uvicorn would be to the application, over a network as good as its driver wants."""

import asyncio
import json
from collections import deque
from typing import Any, Final

from speech_protocol import ErrorCode

from tests.load.ledger import Ledger, TooAmbiguous, Violation
from tests.load.reading import Limits

_HEADERS: Final = [(b"host", b"stage")]


class SocketPeer:
    """One session's client. Frames that come are given to its ledger when it reads them."""

    def __init__(self, limits: Limits) -> None:
        self.ledger = Ledger(limits)
        self.violation: Violation | TooAmbiguous | None = None
        self.task: asyncio.Task[None] | None = None
        self.close_code: int | None = None
        """With which the server has closed the session."""
        self.is_gone = False
        """It has left."""
        self.scope = {
            "type": "websocket",
            "path": "/invocations-bidirectional-stream",
            "headers": _HEADERS,
            "query_string": b"",
            "subprotocols": [],
            "extensions": {},
        }
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._messages.put_nowait({"type": "websocket.connect"})
        self._room: int | None = None  # how many more frames it takes; None: as many as come
        self._has_room = asyncio.Event()
        self._has_room.set()

    @property
    def is_over(self) -> bool:
        """Nothing more happens on this connection."""
        return self.task is not None and self.task.done()

    @property
    def is_listening(self) -> bool:
        """It is there, reads, and has not been told that it is over."""
        is_there = not self.is_gone and not self.is_over and self.close_code is None and not self.ledger.is_over
        return is_there and self._room is None

    @property
    def is_answered(self) -> bool:
        """Nothing that it has said waits for an answer."""
        return self.ledger.is_quiet

    def say(self, data: bytes | str) -> None:
        """Send a message."""
        if self.is_gone or self.close_code is not None:
            return
        self.ledger.sent(data)
        kind = "text" if isinstance(data, str) else "bytes"
        self._messages.put_nowait({"type": "websocket.receive", kind: data})

    def leave(self, code: int = 1006) -> None:
        """Be gone."""
        if not self.is_gone:
            self.is_gone = True
            self._messages.put_nowait({"type": "websocket.disconnect", "code": code})
            self._has_room.set()

    def read(self, frames: int) -> None:
        """Read so many more frames, and then none."""
        self._room = frames
        if frames:
            self._has_room.set()
        else:
            self._has_room.clear()

    def read_on(self) -> None:
        """Read whatever comes."""
        self._room = None
        self._has_room.set()

    async def receive(self) -> dict[str, Any]:
        """For the application."""
        return await self._messages.get()

    async def send(self, message: Any) -> None:
        """For the application."""
        if message["type"] == "websocket.accept":
            return
        await self._has_room.wait()
        if self.is_gone:
            raise OSError("the client is gone")
        if self.close_code is not None:
            raise RuntimeError("the session was closed")
        if message["type"] == "websocket.close":
            self.close_code = message.get("code", 1000)
            self.leave(self.close_code or 1000)
            return
        if self._room is not None:
            self._room -= 1
            if self._room <= 0:
                self._has_room.clear()
        text = message.get("text")
        try:
            self.ledger.received(message["bytes"] if text is None else text)
        except (Violation, TooAmbiguous) as violation:
            self.violation = self.violation or violation
        if self.ledger.is_over:
            self.leave(1000)


class HttpPeer:
    """One HTTP request's client."""

    def __init__(self, path: str, body: bytes) -> None:
        self.violation: Violation | None = None
        self.task: asyncio.Task[None] | None = None
        self.status: int | None = None
        self.is_answered = False
        """It has had a whole answer."""
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": _HEADERS,
            "query_string": b"",
        }
        self._body = bytearray()
        self._messages: deque[dict[str, Any]] = deque([{"type": "http.request", "body": body, "more_body": False}])
        self._is_gone = asyncio.Event()
        self._reads = asyncio.Event()
        self._reads.set()

    @property
    def is_over(self) -> bool:
        """Nothing more happens for this request."""
        return self.task is not None and self.task.done()

    def leave(self) -> None:
        """Hang up."""
        self._is_gone.set()
        self._reads.set()

    def stop_reading(self) -> None:
        """Read nothing for now."""
        if not self._is_gone.is_set():
            self._reads.clear()

    def read_on(self) -> None:
        """Read whatever comes."""
        self._reads.set()

    async def receive(self) -> dict[str, Any]:
        """For the application."""
        if self._messages:
            return self._messages.popleft()
        await self._is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """For the application."""
        await self._reads.wait()
        if self._is_gone.is_set():
            return
        if message["type"] == "http.response.start":
            if self.status is not None:
                self.violation = Violation(f"a second answer begins, after {self.status}")
            self.status = message["status"]
            return
        if self.status is None or self.is_answered:
            self.violation = Violation("a part of an answer that has not begun, or is over")
        self._body += message.get("body", b"")
        if not message.get("more_body", False):
            self.is_answered = True
            self._judge()
            self._is_gone.set()

    def _judge(self) -> None:
        if self.status == 200:
            if not self._body:
                self.violation = Violation("a good answer without a body")
            return
        try:
            error = json.loads(self._body)["error"]
            is_typed = ErrorCode(error["code"]).http_status == self.status and error["message"]
        except (ValueError, KeyError, TypeError):
            is_typed = False
        if not is_typed:
            self.violation = Violation(f"{self.status} with {bytes(self._body[:200])!r}")
