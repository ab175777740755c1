"""One bidirectional stream between a caller and a model container, from the container's acceptance to the end of
either.

Two tasks carry frames, one each way, and a third pings; whichever ends first decides how the exchange ends. What
came from the caller is credited back only after the container took it, and nothing is read from the container before
the caller took the last frame: the slower side sets the pace, and in between lies no queue."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from local_cloud.container_socket import Container, Fragment
from local_cloud.errors import ContainerClosed, MalformedFrame, SignatureRefused
from local_cloud.event_stream import encode_error, encode_exception
from local_cloud.http2_server import Received
from local_cloud.payload_parts import PartReader, render_part

NORMAL_CLOSURE, GOING_AWAY, POLICY_VIOLATION = 1000, 1001, 1008


class CallerStream(Protocol):
    """The caller's half: an `Http2Stream`, or a stand-in for it."""

    async def receive(self) -> Received | None: ...

    def acknowledge(self, credit_bytes: int) -> None: ...

    async def send_data(self, data: bytes) -> None: ...


@dataclass
class Traffic:
    """What has passed, in frames and payload bytes; only ever grows."""

    parts_up: int = 0
    bytes_up: int = 0
    parts_down: int = 0
    bytes_down: int = 0


@dataclass(frozen=True)
class Ending:
    """How an exchange ended: `frame` is the last event for the caller (None where all is well), `close_code` the
    container's.
    """

    frame: bytes | None
    close_code: int


def model_stream_error(message: str, code: str) -> bytes:
    """The event that SageMaker sends when the container ends or fails in mid stream."""
    return encode_exception("ModelStreamError", {"Message": message, "ErrorCode": code})


class Exchange:
    """Carries frames between a caller and a container until one of them ends."""

    def __init__(self, caller: CallerStream, container: Container, parts: PartReader) -> None:
        self._caller = caller
        self._container = container
        self._parts = parts
        self.traffic = Traffic()

    async def run(self, *, limit_s: float, ping_interval_s: float, unanswered_pings: int) -> Ending:
        """Carry frames until the end, at most for `limit_s` seconds. The container's socket is left to be closed.

        Raises:
            CallerGone: the caller left.
        """
        up = asyncio.create_task(self._carry_up(), name="to the container")
        down = asyncio.create_task(self._carry_down(), name="from the container")
        pings = asyncio.create_task(self._container.keep_alive(ping_interval_s, unanswered_pings), name="pings")
        tasks = {up, down, pings}
        try:
            async with asyncio.timeout(limit_s):
                return await self._first_ending(up, down, pings)
        except TimeoutError:
            message = f"The stream was open for its limit of {limit_s:g} seconds."
            return Ending(model_stream_error(message, "ModelInvocationTimeExceeded"), GOING_AWAY)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _first_ending(
        self, up: asyncio.Task[Ending | None], down: asyncio.Task[None], pings: asyncio.Task[None]
    ) -> Ending:
        waiting: set[asyncio.Task[Ending | None] | asyncio.Task[None]] = {up, down, pings}
        caller_ended = False
        while True:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if up in waiting and up.done():
                refused = up.result()
                if refused is not None:
                    return refused
                waiting.discard(up)
                caller_ended = self._parts.ended
            if down.done():
                down.result()
                return Ending(None, NORMAL_CLOSURE) if caller_ended else self._container_ended()
            if pings.done():
                pings.result()
                return Ending(
                    model_stream_error("The model container stopped answering pings.", "1011"), POLICY_VIOLATION
                )

    def _container_ended(self) -> Ending:
        closing = self._container.closing()
        message = closing.reason or "The model container closed its WebSocket."
        return Ending(model_stream_error(message, str(closing.code)), NORMAL_CLOSURE)

    async def _carry_up(self) -> Ending | None:
        """Caller to container. None at the end of the input, or when the container has gone (the other way reports
        that).
        """
        try:
            while (received := await self._caller.receive()) is not None:
                for fragment in self._parts.feed(received.data):
                    await self._send_up(fragment)
                self._caller.acknowledge(received.credit_bytes)
            self._parts.finish()
        except ContainerClosed:
            return None
        except MalformedFrame as error:
            return Ending(encode_error("SerializationException", str(error)), POLICY_VIOLATION)
        except SignatureRefused as error:
            return Ending(encode_error(error.code, error.message), POLICY_VIOLATION)
        self._parts.ended = True
        self._container.start_close(NORMAL_CLOSURE)
        return None

    async def _send_up(self, fragment: Fragment) -> None:
        await self._container.send(fragment)
        self.traffic.parts_up += 1
        self.traffic.bytes_up += len(fragment.data)

    async def _carry_down(self) -> None:
        async for fragment in self._container.fragments():
            await self._caller.send_data(render_part(fragment))
            self.traffic.parts_down += 1
            self.traffic.bytes_down += len(fragment.data)
