"""The events that have come and that nobody has read yet: in order, bounded, without audio that is not wanted."""

import asyncio

from speech_protocol import Audio, Timestamps

from .channel import Channel
from .errors import SpeechUsageError
from .ledger import RequestEvent, RequestLedger

_EVENTS = 64  # 1 MiB of the contract's audio frames, 21 s of PCM


class Inbox:
    """Of one session. One task at a time reads it; `deliver` waits while it is full, and no deadline runs meanwhile."""

    def __init__(self, ledger: RequestLedger) -> None:
        self._loop = asyncio.get_running_loop()
        self._ledger = ledger
        self._events: Channel[RequestEvent | None] = Channel(_EVENTS)  # None: nothing more was promised
        self._muted: set[str] = set()  # cancelled by us: their audio is no longer wanted
        self._is_read = False

    @property
    def is_read(self) -> bool:
        """Whether a task waits for the next event."""
        return self._is_read

    @property
    def wants_none_in_flight(self) -> bool:
        """Whether everything that the server has yet to answer is muted."""
        return self._muted.issuperset(self._ledger.in_flight)

    def is_muted(self, request_id: str) -> bool:
        """Whether the audio of a request that is in flight is no longer wanted."""
        return request_id in self._muted

    async def next(self) -> RequestEvent | None:
        """The oldest event; None where nothing more was promised. Raises what closed the inbox, after the last one."""
        if self._is_read:
            raise SpeechUsageError("the events of a session are read by one task at a time")
        self._is_read = True
        try:
            return await self._events.get()
        finally:
            self._is_read = False

    async def deliver(self, item: RequestEvent) -> None:
        """Keep an event that the ledger has absorbed, as soon as there is room."""
        if self._events.is_full:
            self._ledger.paused()
            await self._events.room()
            self._ledger.resumed(self._loop.time())
        if item.request_id in self._muted and isinstance(item.event, Audio | Timestamps):
            return
        self._events.put_now(item)
        if item.request_id is not None and item.request_id not in self._ledger:
            self._muted.discard(item.request_id)

    def end(self) -> None:
        """Nothing more was promised: the reader learns it after what has come."""
        self._events.put_now(None)

    def mute(self, request_ids: tuple[str, ...], *, everything: bool = False) -> None:
        """Drop the audio of these requests, that which has come and that which will, or all that has come."""
        self._muted.update(request_id for request_id in request_ids if request_id in self._ledger)
        self._events.drop(
            lambda item: (
                item is not None
                and isinstance(item.event, Audio | Timestamps)
                and (everything or item.request_id in request_ids)
            )
        )

    def discard(self) -> None:
        """Nobody will read any more."""
        self._events.discard()

    def close(self, reason: Exception) -> None:
        """Nothing more will come, and `next` raises `reason` once all has been read. The first reason counts."""
        self._events.close(reason)
