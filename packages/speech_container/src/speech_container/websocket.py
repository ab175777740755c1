"""The WebSocket edge of a session: one task reads, one task answers, and both end when either cannot go on.

The socket is accepted at once (SageMaker allows 250 ms). The reader never waits for the engine, so a `ping` or a
`cancel` gets through while audio is made; the speaker never holds the engine while it sends. Whatever ends the
session (the client's `close`, a dropped connection, a peer that does not read for `send_timeout_s`) ends its work
before the engine's next step.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from speech_protocol import AudioFramer, ErrorEvent, KnownEvent, SessionClosed, render_event
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from .delivery import Delivery, cancelled
from .errors import Refusal
from .pcm import SAMPLE_BYTES
from .service import Service
from .session import Begin, Send, Session, Stop, Turn
from .synthesis import Recitation, Spoken

logger = logging.getLogger(__name__)

_PEER_CLOSES_S: Final = 1.0  # DESIGN 3.1, rule 6: a container that closes first looks like a failure to SageMaker


@dataclass(slots=True, eq=False)
class _Work:
    """What goes on for one turn: preparation, then recitation. `admission` is closed when both have ended."""

    preparation: asyncio.Task[Recitation]
    admission: contextlib.ExitStack
    arrived_s: float

    def stop(self) -> None:
        """Make no more audio."""
        if self.preparation.done() and not self.preparation.cancelled() and self.preparation.exception() is None:
            self.preparation.result().cancel()
        else:
            self.preparation.cancel()


class Conversation:
    """One client on one accepted or acceptable socket."""

    def __init__(self, websocket: WebSocket, service: Service) -> None:
        self._websocket = websocket
        self._service = service
        self._settings = service.settings
        self._listener = service.new_listener()
        self._session = Session(
            max_waiting=service.settings.max_waiting_requests,
            max_text_chars=service.settings.max_text_chars,
            require_open=service.require_open,
            capabilities=service.capabilities,
        )
        self._work: dict[Turn, _Work] = {}
        self._received = asyncio.Event()
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Until the session has ended, one way or the other. Client errors never raise."""
        await self._websocket.accept()
        logger.info("session opened", extra={"fields": {"session": self._listener}})
        reader = asyncio.create_task(self._read(), name="session-reader")
        speaker = asyncio.create_task(self._speak(), name="session-speaker")
        try:
            await asyncio.wait({reader, speaker}, return_when=asyncio.FIRST_COMPLETED)
            if speaker.done() and speaker.exception() is None:
                await self._close(reader)
        finally:
            for task in (reader, speaker):
                task.cancel()
            outcomes = await asyncio.gather(reader, speaker, return_exceptions=True)
            for turn in list(self._work):
                self._finish(turn)
            self._log_end(outcomes)

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            for effect in self._session.receive(message["bytes"] if text is None else text):
                match effect:
                    case Send(event):
                        await self._send_event(event)
                    case Begin(turn):
                        self._begin(turn)
                    case Stop(turn):
                        self._work[turn].stop()
            self._received.set()

    async def _speak(self) -> None:
        """Answer the head of the queue, again and again, until the client has closed and nothing is owed."""
        while True:
            self._received.clear()
            while (head := self._session.head) is not None:
                if isinstance(head, ErrorEvent):
                    await self._send_event(head)
                else:
                    await self._answer(head)
                    self._finish(head)
                self._session.answered()
            if self._session.closing:
                await self._send_event(SessionClosed())
                return
            await self._received.wait()

    def _begin(self, turn: Turn) -> None:
        admission = contextlib.ExitStack()
        admission.enter_context(self._service.admitted())
        preparation = asyncio.create_task(self._service.recite(self._listener, turn.synthesize))
        self._work[turn] = _Work(preparation, admission, time.monotonic())

    def _finish(self, turn: Turn) -> None:
        """Nothing is done for this turn any more."""
        work = self._work.pop(turn)
        work.stop()
        work.admission.close()

    async def _answer(self, turn: Turn) -> None:
        work = self._work[turn]
        await asyncio.wait({work.preparation})
        if turn.cancelled or work.preparation.cancelled():
            await self._send_event(cancelled(turn.request_id, turn.synthesize.text))
            return
        try:
            with work.preparation.result() as recitation:
                await self._deliver(turn, recitation, work.arrived_s)
        except Refusal as refusal:
            logger.info("request refused", extra={"fields": {"request_id": turn.request_id, "code": refusal.code}})
            await self._send_event(refusal.event(turn.request_id))

    async def _deliver(self, turn: Turn, recitation: Recitation, arrived_s: float) -> None:
        request = turn.synthesize
        delivery = Delivery(turn.request_id, request.text, request.options, arrived_s=arrived_s)
        sample_bytes = SAMPLE_BYTES if request.options.format == "pcm" else 1
        framer = AudioFramer(self._settings.frame_bytes, sample_bytes)
        await self._send_event(delivery.start())
        async for spoken in recitation:
            if await self._deliver_line(turn, delivery, framer, spoken):
                delivery.delivered(spoken)
            recitation.delivered(spoken.waveform.duration_s)
        if not turn.cancelled:
            for frame in framer.feed(await delivery.flush()) + framer.flush():
                await self._send_audio(frame)
        ending = delivery.cancelled() if turn.cancelled else delivery.complete(recitation.queue_s or 0.0)
        await self._send_event(ending)
        log_end(delivery, len(request.text), cancelled=turn.cancelled)

    async def _deliver_line(self, turn: Turn, delivery: Delivery, framer: AudioFramer, spoken: Spoken) -> bool:
        """Encode and send one line; False where the turn was cancelled before its last frame."""
        for piece in delivery.pieces(spoken):
            for frame in framer.feed(await delivery.encode(piece)):
                if turn.cancelled:
                    return False
                await self._send_audio(frame)
        return True

    async def _send_event(self, event: KnownEvent) -> None:
        await self._send({"type": "websocket.send", "text": render_event(event)})

    async def _send_audio(self, frame: bytes) -> None:
        await self._send({"type": "websocket.send", "bytes": frame})

    async def _send(self, message: Message) -> None:
        async with asyncio.timeout(self._settings.send_timeout_s), self._sending:
            try:
                await self._websocket.send(message)
            except RuntimeError as error:  # how uvicorn and starlette say that the socket was closed under us
                raise WebSocketDisconnect(1006) from error

    async def _close(self, reader: "asyncio.Task[None]") -> None:
        """After `session_closed`: the peer closes, or we do after a second."""
        await asyncio.wait({reader}, timeout=_PEER_CLOSES_S)
        if not reader.done():
            with contextlib.suppress(WebSocketDisconnect):
                await self._websocket.close(1000)

    def _log_end(self, outcomes: "Iterable[BaseException | None]") -> None:
        """Peers that went away or stopped reading are daily life; whatever else ended a task is a fault of ours."""
        fields = {"session": self._listener}
        for outcome in outcomes:
            if isinstance(outcome, TimeoutError):
                logger.warning("the peer does not read; session dropped", extra={"fields": fields})
            elif isinstance(outcome, Exception) and not isinstance(outcome, WebSocketDisconnect):
                logger.error("a session failed", exc_info=outcome, extra={"fields": fields})
        logger.info("session ended", extra={"fields": fields})


def log_end(delivery: Delivery, text_chars: int, *, cancelled: bool = False) -> None:
    """One line for a request that has been answered: its lengths, never its text."""
    fields = {
        "request_id": delivery.request_id,
        "text_chars": text_chars,
        "duration_s": round(delivery.duration_s, 3),
        "audio_bytes": delivery.audio_bytes,
        "first_audio_s": None if delivery.first_audio_s is None else round(delivery.first_audio_s, 3),
        "cancelled": cancelled,
    }
    logger.info("request answered", extra={"fields": fields})
