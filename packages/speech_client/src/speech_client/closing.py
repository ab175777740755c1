"""Cleaning up that a cancellation must not interrupt, or a second Ctrl-C would leave connections and tasks behind."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def to_the_end(closing: Coroutine[Any, Any, None]) -> None:
    """Run `closing`, which bounds its own time, to its end; a cancellation meanwhile takes effect after it."""
    task = asyncio.create_task(closing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()
        raise cancelled
    task.result()
