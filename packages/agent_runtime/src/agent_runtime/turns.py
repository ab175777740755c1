"""The turns in progress: who is admitted, what is logged of them, and since when nothing has happened.

Both faces (`app`, `websocket`) take their turns from here, so that callers are counted and refused alike.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable
from typing import Final

from . import log
from .answer import Answer
from .conversation import Conversation, Conversations
from .errors import AgentErrorCode, RequestError
from .events import AgentCancelled, AgentErrorEvent, AgentEvent
from .request import DEFAULT_MAX_PROMPT_CHARS, AgentRequest, Interruption, describe
from .settings import DEFAULT_MAX_TURNS
from .turn import Turn

CONVERSATIONS_A_TURN: Final = 4  # as many are remembered for each turn that may run at once

_log = logging.getLogger(__name__)


class Turns:
    """`now_s`: seconds since the epoch."""

    def __init__(
        self,
        answer: Answer,
        converse: Callable[[], Conversation],
        *,
        max_turns: int = DEFAULT_MAX_TURNS,
        max_prompt_chars: int = DEFAULT_MAX_PROMPT_CHARS,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self.conversations = Conversations(converse, max_turns * CONVERSATIONS_A_TURN)
        self.max_turns = max_turns
        self.max_prompt_chars = max_prompt_chars
        self.active = 0
        self._answer = answer
        self._now_s = now_s
        self._last_activity_s = now_s()
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def last_activity_s(self) -> float:
        """When a caller was last served anything, in seconds since the epoch. A ping is no activity."""
        return self._last_activity_s

    def take(self, read: Callable[[], AgentRequest], conversation: Conversation, request_id: str) -> "ServedTurn":
        """One turn, to be taken with its `events`. `read` gives the request, or raises `RequestError`."""
        return ServedTurn(self, read, conversation, request_id)

    async def drain(self, limit_s: float) -> None:
        """Take no more turns, and wait for those that run, for `limit_s` at most."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._idle.wait()

    def active_now(self) -> None:
        """Something was done for a caller just now."""
        self._last_activity_s = self._now_s()

    def start(self, request: AgentRequest, conversation: Conversation, request_id: str) -> Turn:
        """Raises `RequestError` where no turn can be taken now."""
        if self._draining:
            message = "this agent shuts down; ask again, another one will answer"
            raise RequestError(AgentErrorCode.SHUTTING_DOWN, message)
        if self.active >= self.max_turns:
            raise RequestError(AgentErrorCode.BUSY, "the agent answers as many callers as it can; try again soon")
        turn = self._answer(request, conversation, request_id)
        self.active += 1
        self._idle.clear()
        self.active_now()
        return turn

    def done(self) -> None:
        """A turn that was started is over."""
        self.active -= 1
        self.active_now()
        if not self.active:
            self._idle.set()


class ServedTurn:
    """One turn of a caller. A request that cannot be served is one `error`."""

    def __init__(
        self, turns: Turns, read: Callable[[], AgentRequest], conversation: Conversation, request_id: str
    ) -> None:
        self._turns = turns
        self._read = read
        self._conversation = conversation
        self._request_id = request_id
        self._turn: Turn | None = None
        self._is_unwanted = False  # before it has begun

    async def events(self) -> AsyncGenerator[AgentEvent]:
        """All events of the turn. Closing the generator, or cancelling who iterates it, ends the turn."""
        log.request_id.set(self._request_id)
        try:
            request = self._read()
            async with self._conversation.turn(), contextlib.aclosing(self._serve(request)) as events:
                async for event in events:
                    yield event
        except RequestError as error:
            _log.info("turn refused", extra={"code": error.code})
            yield AgentErrorEvent(error.code, error.message)

    def is_meant(self, interruption: Interruption) -> bool:
        """Whether it is this answer that is to be interrupted."""
        return interruption.request_id in (None, self._request_id)

    def interrupt(self, played_s: float | None) -> AgentCancelled | None:
        """The caller wants no more of this answer: see `Turn.interrupt`."""
        if self._turn is None:
            self._is_unwanted = True
            return None
        self._turns.active_now()
        return self._turn.interrupt(played_s)

    async def _serve(self, request: AgentRequest) -> AsyncGenerator[AgentEvent]:
        self._turn = turn = self._turns.start(request, self._conversation, self._request_id)
        _log.info("turn began", extra=describe(request))
        if self._is_unwanted:
            turn.interrupt()
        last, outcome = "", "caller went away"
        try:
            async with contextlib.aclosing(turn.events()) as events:
                async for event in events:
                    self._turns.active_now()
                    yield event
                    last = event.code if isinstance(event, AgentErrorEvent) else event.type
            outcome = last
        finally:
            self._turns.done()
            _log.info("turn ended", extra={"outcome": outcome})
