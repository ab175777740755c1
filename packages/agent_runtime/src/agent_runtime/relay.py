"""Work in a task, its events out of a generator, with a bounded queue between: the place where hanging up and
interrupting are decided.

A caller that goes away closes the generator or cancels whoever iterates it. Either way the work is cancelled and
awaited before control goes back, so nothing of a turn outlives its caller. A caller that reads slowly fills the
queue, and the work waits. A caller that interrupts gets nothing more of what is queued.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

import anyio

from .errors import AgentErrorCode
from .events import AgentErrorEvent, AgentEvent

Emit = Callable[[AgentEvent], Awaitable[None]]
Produce = Callable[[Emit], Awaitable[None]]

DEFAULT_QUEUED_EVENTS = 64  # of 16 KiB audio each, 1 MiB a turn

_log = logging.getLogger(__name__)


class Relay:
    """`produce` turns what it expects to go wrong into events itself; anything else becomes one `internal_error`."""

    def __init__(self, produce: Produce, queued_events: int = DEFAULT_QUEUED_EVENTS) -> None:
        self._produce = produce
        self._queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue(queued_events)
        self._task: asyncio.Task[None] | None = None
        self._interrupted = False

    async def events(self) -> AsyncGenerator[AgentEvent]:
        """What `produce` emits, as it comes; to be iterated once."""
        if self._interrupted:
            return
        self._task = task = asyncio.create_task(self._work())
        task.add_done_callback(self._wake)
        try:
            while not (task.done() and self._queue.empty()):
                event = await self._queue.get()
                if event is not None and not self._interrupted:
                    yield event
            if not self._interrupted and not task.cancelled() and task.exception() is not None:
                message = "the answer failed for a reason of the service's own"
                yield AgentErrorEvent(AgentErrorCode.INTERNAL_ERROR, message)
        finally:
            task.cancel()
            # Starlette runs responses in a cancel scope, which cancels again at every await until it is left.
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task})
            if not task.cancelled() and (failure := task.exception()) is not None:
                _log.error("turn failed", exc_info=failure)

    def interrupt(self) -> None:
        """Stop the work; the generator ends once it has stopped, without what was still queued."""
        self._interrupted = True
        if self._task is not None:
            self._task.cancel()
        while not self._queue.empty():
            self._queue.get_nowait()

    async def _work(self) -> None:
        await self._produce(self._queue.put)

    def _wake(self, _: asyncio.Task[None]) -> None:
        if not self._queue.full():  # a full one has no reader waiting, who looks at the task once it is empty
            self._queue.put_nowait(None)
