"""One listener's conversation: what has been said, and the speech session that its answers share.

AgentCore gives every session an id and a machine of its own; on one's own machine many sessions share a process. Their
number is bounded: the one that was used longest ago is forgotten for a new one.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Final

from .errors import AgentErrorCode, RequestError
from .memory import Memory
from .voice import Speech

# A caller that hangs up and asks again may be faster than the end of what it hung up on, which takes a second at most.
PATIENCE_S: Final = 2.0


class Conversation:
    """Answers one question at a time. Another one waits for `patience_s`."""

    def __init__(self, memory: Memory, speech: Speech, *, patience_s: float = PATIENCE_S) -> None:
        self.memory = memory
        self.speech = speech
        self._patience_s = patience_s
        self._answering = asyncio.Lock()

    @property
    def is_answering(self) -> bool:
        """Whether a turn is under way."""
        return self._answering.locked()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """For the length of one answer. Raises `RequestError` (`busy`) where another one does not end soon."""
        try:
            async with asyncio.timeout(self._patience_s):
                await self._answering.acquire()
        except TimeoutError:
            message = "this session is being answered; wait for the end of that, or cancel it"
            raise RequestError(AgentErrorCode.BUSY, message) from None
        try:
            yield
        finally:
            self._answering.release()

    async def close(self) -> None:
        """Give up the speech session. Bounded."""
        await self.speech.close()


class Conversations:
    """The conversations that have an id, at most `limit`. `make` makes a new one."""

    def __init__(self, make: Callable[[], Conversation], limit: int) -> None:
        self._make = make
        self._limit = limit
        self._kept: OrderedDict[str, Conversation] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._kept)

    @contextlib.asynccontextmanager
    async def join(self, session_id: str | None) -> AsyncIterator[Conversation]:
        """The conversation of that id; without one, a conversation that ends with the `async with`."""
        if session_id is None:
            conversation = self._make()
            try:
                yield conversation
            finally:
                self._part(conversation)
        else:
            yield self._named(session_id)

    async def close(self) -> None:
        """End them all. Bounded by what closing a speech session takes."""
        while self._kept:
            self._part(self._kept.popitem()[1])
        if self._closing:
            await asyncio.wait(self._closing)

    def _named(self, session_id: str) -> Conversation:
        conversation = self._kept.get(session_id)
        if conversation is None:
            conversation = self._kept[session_id] = self._make()
            self._forget_one()
        self._kept.move_to_end(session_id)
        return conversation

    def _forget_one(self) -> None:
        """Past the limit, the one that is used least; never one that is being answered."""
        if len(self._kept) > self._limit:
            for session_id, conversation in list(self._kept.items())[:-1]:
                if not conversation.is_answering:
                    del self._kept[session_id]
                    self._part(conversation)
                    return

    def _part(self, conversation: Conversation) -> None:
        """Say goodbye without anybody waiting for it."""
        task = asyncio.create_task(conversation.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
