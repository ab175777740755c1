"""A timer over a deadline that moves: it is pushed back with every frame, so it is looked at again when it rings."""

import asyncio
from collections.abc import Callable

from .ledger import Due


class Alarm:
    """Calls `missed` with the deadline that `due` names once that has passed. `due` returns None while nothing is due.

    Deadlines are on the event loop's clock.
    """

    def __init__(self, due: Callable[[], Due | None], missed: Callable[[Due], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._due = due
        self._missed = missed
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """See to it that the timer rings no later than the next deadline."""
        due = self._due()
        if due is None or (self._timer is not None and self._timer.when() <= due.at_s):
            return
        self.stop()
        self._timer = self._loop.call_at(due.at_s, self._ring)

    def stop(self) -> None:
        """Ring no more, until `watch` is called."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        due = self._due()
        if due is not None and due.at_s <= self._loop.time():
            self._missed(due)
        else:
            self.watch()
