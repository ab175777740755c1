"""The agent's WebSocket face: several turns on one socket, events as text frames, audio as binary frames.

One task reads, so that a `cancel` gets through while audio is on its way; an answer is a task of its own. Nothing that
was still to be sent of a cancelled answer is sent. Frames have at most 32 KiB, which is what AgentCore Runtime lets
through.
"""

import asyncio
import contextlib
import logging
import uuid
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from .conversation import Conversation
from .errors import AgentErrorCode, RequestError
from .events import AgentCancelled, AgentEnd, AgentErrorEvent, AgentEvent, render_frames
from .request import AgentRequest, Interruption, parse_message
from .turns import ServedTurn, Turns

SEND_TIMEOUT_S: Final = 60.0  # a caller that takes nothing for so long does not listen

_ENDS: Final = (AgentEnd, AgentCancelled, AgentErrorEvent)

_log = logging.getLogger(__name__)


class Socket:
    """One caller on one socket, which is accepted here."""

    def __init__(
        self, websocket: WebSocket, turns: Turns, conversation: Conversation, *, send_timeout_s: float = SEND_TIMEOUT_S
    ) -> None:
        self._websocket = websocket
        self._turns = turns
        self._conversation = conversation
        self._send_timeout_s = send_timeout_s
        self._turn: ServedTurn | None = None
        self._is_interrupted = False
        self._reading: asyncio.Task[None] | None = None
        self._answering: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Until the caller goes, or takes nothing any more; the answer in progress ends with it."""
        await self._websocket.accept()
        self._reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait({self._reading})
        finally:
            tasks = {task for task in (self._reading, self._answering) if task is not None}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not self._reading.cancelled():
            self._reading.result()

    async def _read(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, TimeoutError):
            while (message := await self._websocket.receive())["type"] != "websocket.disconnect":
                text = message.get("text")
                await self._take(message["bytes"] if text is None else text)

    async def _take(self, data: str | bytes) -> None:
        try:
            message = parse_message(data, self._turns.max_prompt_chars)
        except RequestError as error:
            await self._send(AgentErrorEvent(error.code, error.message))
            return
        if isinstance(message, Interruption):
            await self._interrupt(message)
        elif self._is_answering and not self._is_interrupted:
            sentence = "an answer is under way; cancel it, or wait for its end"
            await self._send(AgentErrorEvent(AgentErrorCode.BUSY, sentence))
        else:
            self._begin(message)

    @property
    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.done()

    def _begin(self, request: AgentRequest) -> None:
        self._turn = turn = self._turns.take(lambda: request, self._conversation, str(uuid.uuid4()))
        self._is_interrupted = False
        self._answering = asyncio.create_task(self._answer(turn, self._answering))

    async def _interrupt(self, interruption: Interruption) -> None:
        if self._turn is None or not self._turn.is_meant(interruption):
            return
        self._is_interrupted = True
        cancelled = self._turn.interrupt(interruption.played_s)
        if cancelled is not None:
            await self._send(cancelled)

    async def _answer(self, turn: ServedTurn, before: asyncio.Task[None] | None) -> None:
        """Send the events of `turn`, once the answer `before` it, which was interrupted, has ended.

        What may be the last event is held back until it is known to be: a caller that has it may ask the next question.
        """
        held: AgentEvent | None = None
        try:
            if before is not None:
                await asyncio.wait({before})
            async with contextlib.aclosing(turn.events()) as events:
                async for event in events:
                    if held is not None:
                        await self._send(held)
                    held = event if isinstance(event, _ENDS) else None
                    if held is None:
                        await self._send(event)
            if held is not None:
                await self._send(held)
        except WebSocketDisconnect:
            pass  # the caller has gone, which the reader is told too
        except TimeoutError:
            if self._reading is not None:
                self._reading.cancel()

    async def _send(self, event: AgentEvent) -> None:
        try:
            for frame in render_frames(event):
                async with asyncio.timeout(self._send_timeout_s):
                    if isinstance(frame, str):
                        await self._websocket.send_text(frame)
                    else:
                        await self._websocket.send_bytes(frame)
        except TimeoutError:
            _log.warning("the caller does not read", extra={"limit_s": self._send_timeout_s})
            raise
