"""Who waits for an answer that belongs to no request: to `hello`, to `ping`, to `close`."""

import asyncio
from collections import deque
from typing import Any

from speech_protocol import Capabilities


class Answers:
    """Futures of one event loop. An answer that nobody waits for is nothing, and so is one that comes too late."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._hellos: deque[asyncio.Future[Capabilities]] = deque()
        self._pings: dict[str, asyncio.Future[None]] = {}
        self.goodbye: asyncio.Future[None] = self._loop.create_future()
        """Done when the server has closed the session, or it is over without."""

    def to_hello(self) -> asyncio.Future[Capabilities]:
        """The server answers `hello`s in the order in which they were sent."""
        answer: asyncio.Future[Capabilities] = self._loop.create_future()
        self._hellos.append(answer)
        return answer

    def to_ping(self, ping_id: str) -> asyncio.Future[None]:
        """Its `pong` has the same id."""
        answer: asyncio.Future[None] = self._loop.create_future()
        self._pings[ping_id] = answer
        return answer

    def capabilities(self, event: Capabilities) -> None:
        """The server has answered a `hello`."""
        _answer(self._hellos.popleft() if self._hellos else None, event)

    def pong(self, ping_id: str | None) -> None:
        """The server has answered a `ping`."""
        _answer(self._pings.pop(ping_id or "", None), None)

    def closed(self) -> None:
        """The server has said goodbye."""
        _answer(self.goodbye, None)

    def fail(self, reason: Exception) -> None:
        """No answer will come. Who waits for the goodbye need wait no longer."""
        waiting: list[asyncio.Future[Any]] = [*self._hellos, *self._pings.values()]
        for answer in waiting:
            if not answer.done():
                answer.set_exception(reason)
        _answer(self.goodbye, None)


def _answer[T](waiter: asyncio.Future[T] | None, value: T) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(value)
