"""A bounded queue between two tasks that can be closed with a reason, because asyncio.Queue (3.12) cannot.

A session's tasks must all wake when it fails: whoever waits for room learns at once, whoever reads gets what had
already arrived first and the reason after it.
"""

import asyncio
from collections import deque
from collections.abc import Callable


class Channel[T]:
    """FIFO of at most `capacity` items. Waiters are served in order; cancelling a wait loses nothing."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a channel holds at least one item; capacity is {capacity}")
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._readers: deque[asyncio.Future[None]] = deque()
        self._writers: deque[asyncio.Future[None]] = deque()
        self._reason: Exception | None = None
        self._discarding = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_full(self) -> bool:
        """Whether `put` would wait."""
        return len(self._items) >= self._capacity

    async def put(self, item: T) -> None:
        """Add `item` once there is room. Raises the reason if the channel is closed, before or while waiting."""
        await self.room()
        self.put_now(item)

    async def room(self) -> None:
        """Return when `put` would not wait: when there is room, or the channel is closed."""
        while self.is_full and self._reason is None and not self._discarding:
            await self._wait(self._writers)

    def put_now(self, item: T) -> None:
        """Add `item` even beyond the capacity. Raises the reason if the channel is closed."""
        if self._reason is not None:
            raise self._reason
        if not self._discarding:
            self._items.append(item)
            _wake_one(self._readers)

    async def get(self) -> T:
        """The oldest item. Once the channel is closed and empty, raises the reason."""
        while not self._items:
            if self._reason is not None:
                raise self._reason
            await self._wait(self._readers)
        return self.get_now()

    def get_now(self) -> T:
        """The oldest item, which must be there."""
        item = self._items.popleft()
        if not self.is_full:
            _wake_one(self._writers)
        return item

    def drop(self, unwanted: Callable[[T], bool]) -> None:
        """Forget the items for which `unwanted` is true."""
        self._items = deque(item for item in self._items if not unwanted(item))
        if not self.is_full:
            _wake_all(self._writers)

    def discard(self) -> None:
        """Forget everything, and everything that is put from now on."""
        self._discarding = True
        self._items.clear()
        _wake_all(self._writers)

    def close(self, reason: Exception) -> None:
        """Nothing can be put any more. The first reason counts."""
        if self._reason is None:
            self._reason = reason
            _wake_all(self._readers)
            _wake_all(self._writers)

    async def _wait(self, waiters: deque[asyncio.Future[None]]) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in waiters:
                waiters.remove(waiter)
            else:  # woken and cancelled at once: pass the turn on
                _wake_one(waiters)
            raise


def _wake_one(waiters: deque[asyncio.Future[None]]) -> None:
    while waiters:
        waiter = waiters.popleft()
        if not waiter.done():
            waiter.set_result(None)
            return


def _wake_all(waiters: deque[asyncio.Future[None]]) -> None:
    while waiters:
        _wake_one(waiters)
