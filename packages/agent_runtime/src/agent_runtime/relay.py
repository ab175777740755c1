"""Work in a task, its events out of a generator, with a bounded queue between: the place where hanging up is decided.

A caller that goes away closes the generator or cancels whoever iterates it. Either way the work is cancelled and
awaited before control goes back, so nothing of a turn outlives its caller. A caller that reads slowly fills the
queue, and the work waits.
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


async def relay(produce: Produce, queued_events: int = DEFAULT_QUEUED_EVENTS) -> AsyncGenerator[AgentEvent]:
    """The events that `produce` emits, as they come.

    `produce` turns what it expects to go wrong into events itself. Anything else that it raises becomes one
    `internal_error` at the end.
    """
    queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue(queued_events)

    async def work() -> None:
        await produce(queue.put)

    def wake(_: asyncio.Task[None]) -> None:
        if not queue.full():  # a full queue has no reader waiting; it will look at the task once it has emptied it
            queue.put_nowait(None)

    task = asyncio.create_task(work())
    task.add_done_callback(wake)
    try:
        while not (task.done() and queue.empty()):
            event = await queue.get()
            if event is not None:
                yield event
        if (failure := task.exception()) is not None:
            _log.error("turn failed", exc_info=failure)
            yield AgentErrorEvent(AgentErrorCode.INTERNAL_ERROR, "the answer failed for a reason of the service's own")
    finally:
        task.cancel()
        # Starlette runs responses in a cancel scope, which cancels again at every await until it is left.
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})
