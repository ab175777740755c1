"""Sessions that die as on the platform, when a test or a person asks for it: the container is gone in mid stream.

What the caller sees is what SageMaker makes of that, a ModelStreamError; the container sees its caller leave.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from local_cloud.container_socket import Closing, Container, Fragment

CONTAINER_DIED = Closing(1006, "The model container dropped its connection.")


@dataclass
class StreamFaults:
    """Failures to come. They can be set at any time, also for streams that are open; each break uses one up."""

    breaks: int = 0
    """So many streams break."""
    after_bytes: int = 0
    """Where: once a stream has carried so much to its caller."""


class FragileContainer:
    """`container`, until `faults` say that its stream breaks."""

    def __init__(self, container: Container, faults: StreamFaults) -> None:
        self._container = container
        self._faults = faults
        self._is_broken = False

    async def send(self, fragment: Fragment) -> None:
        await self._container.send(fragment)

    async def fragments(self) -> AsyncIterator[Fragment]:
        carried_bytes = 0
        async for fragment in self._container.fragments():
            yield fragment
            carried_bytes += len(fragment.data)
            if self._faults.breaks > 0 and carried_bytes >= self._faults.after_bytes:
                self._faults.breaks -= 1
                self._is_broken = True
                return

    def closing(self) -> Closing:
        return CONTAINER_DIED if self._is_broken else self._container.closing()

    def start_close(self, code: int) -> None:
        self._container.start_close(code)

    async def keep_alive(self, interval_s: float, unanswered_limit: int) -> None:
        await self._container.keep_alive(interval_s, unanswered_limit)

    async def end(self, code: int) -> None:
        await self._container.end(code)
