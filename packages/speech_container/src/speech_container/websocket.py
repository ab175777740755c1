"""The WebSocket edge of a session: one task reads, one prepares, one answers; all end when one cannot go on.

The socket is accepted at once (SageMaker allows 250 ms). The reader never waits for the engine, so a `ping` or a
`cancel` gets through while audio is made; the lineup queues sentences at the engine; the speaker never holds the engine
while it sends. Whatever ends the session (the client's `close`, a dropped connection, a peer that does not read for
`send_timeout_s`) ends its work before the engine's next step.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from speech_protocol import AudioFramer, ErrorEvent, KnownEvent, SessionClosed, render_event
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from .account import Outcome, outcome_of
from .alignment import Transcript
from .context import Sentence
from .delivery import Delivery
from .errors import Refusal
from .lineup import Entry, Lineup
from .pcm import SAMPLE_BYTES
from .playback import Playback
from .service import Service
from .session import Session
from .synthesis import Recitation, Spoken
from .turn import Hush, Send, Speak, Stop, Turn

logger = logging.getLogger(__name__)

_PEER_CLOSES_S: Final = 1.0  # DESIGN 3.1, rule 6: a container that closes first looks like a failure to SageMaker


@dataclass(slots=True, eq=False)
class _Voice:
    """An answer's audio as it leaves."""

    delivery: Delivery
    framer: AudioFramer
    queue_s: float | None = None

    @classmethod
    def of(cls, turn: Turn, arrived_s: float, service: Service) -> "_Voice":
        """Raises `Refusal` for a format that cannot be made."""
        options = turn.synthesize.options
        framer = AudioFramer(service.settings.frame_bytes, SAMPLE_BYTES if options.format == "pcm" else 1)
        return cls(Delivery(turn.request_id, options, arrived_s=arrived_s, clock=service.clock), framer)

    async def rest(self) -> list[bytes]:
        """The last frames."""
        return self.framer.feed(await self.delivery.flush()) + self.framer.flush()


@dataclass(slots=True, eq=False)
class _Work:
    """What goes on for one turn. `admission` is closed when all of it has ended; `voice` is there once it is heard."""

    entry: Entry
    admission: contextlib.ExitStack
    arrived_s: float
    voice: _Voice | None = None


class Conversation:
    """One client on one accepted or acceptable socket."""

    def __init__(self, websocket: WebSocket, service: Service) -> None:
        self._websocket = websocket
        self._service = service
        self._settings = service.settings
        self._listener = service.new_listener()
        self._observer = service.telemetry.observer("websocket", websocket.scope["headers"])
        self._session = Session(
            max_waiting=service.settings.max_waiting_requests,
            max_text_chars=service.settings.max_text_chars,
            context_idle_s=service.settings.context_idle_s,
            require_open=service.request_gate(),
            chunker=service.chunker,
            capabilities=service.capabilities,
            clock=service.clock,
        )
        self._lineup = Lineup(partial(service.recite, self._listener), service.clock)
        self._work: dict[Turn, _Work] = {}
        self._playback = Playback()  # of the answer that is heard last
        self._received = asyncio.Event()
        self._sending = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until the session has ended, one way or the other. Client errors never raise."""
        await self._websocket.accept()
        logger.info("session opened", extra={"fields": {"session": self._listener}})
        reader = asyncio.create_task(self._read(), name="session-reader")
        speaker = asyncio.create_task(self._speak(), name="session-speaker")
        lineup = asyncio.create_task(self._lineup.run(), name="session-lineup")
        tasks = (reader, speaker, lineup)
        try:
            with self._service.telling(self._abandon):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if speaker.done() and speaker.exception() is None:
                await self._close(reader)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            if self._idle is not None:
                self._idle.cancel()
            for turn, work in list(self._work.items()):
                self._finish(turn)
                self._account(turn, work.voice, "dropped")
            self._log_end(outcomes)

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            for effect in self._session.receive(message["bytes"] if text is None else text):
                if isinstance(effect, Send):
                    await self._tell(effect.event)
                else:
                    self._apply(effect)
            self._watch_idle()
            self._received.set()

    def _apply(self, effect: Speak | Stop | Hush) -> None:
        match effect:
            case Speak(turn, sentences, is_all):
                if turn not in self._work:
                    self._begin(turn)
                self._work[turn].entry.add(sentences, is_all=is_all)
            case Stop(turn):
                self._work[turn].entry.stop()
                if turn is self._session.head:  # it may have no job left that stops the sound: all of it may be sent
                    self._hush()
            case Hush():
                self._hush()

    def _hush(self) -> None:
        self._service.hush(self._listener)
        self._playback.interrupted()

    def _watch_idle(self) -> None:
        """Come back when a context will have been idle for too long."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        idle_at_s = self._session.idle_at_s
        if idle_at_s is not None:
            wait_s = max(0.0, idle_at_s - self._service.clock())
            self._idle = asyncio.get_running_loop().call_later(wait_s, self._expire)

    def _expire(self) -> None:
        for effect in self._session.expire():
            self._apply(effect)
        self._watch_idle()

    def _abandon(self) -> None:
        for effect in self._session.abandon():
            self._apply(effect)

    async def _speak(self) -> None:
        """Answer the head of the queue, again and again, until the client has closed and nothing is owed."""
        while True:
            self._received.clear()
            while (head := self._session.head) is not None:
                if isinstance(head, ErrorEvent):
                    await self._tell(head)
                    self._session.answered()
                else:
                    transcript = await self._answer(head)
                    self._finish(head)
                    self._session.answered(transcript)
            if self._session.closing:
                await self._send_event(SessionClosed())
                return
            await self._received.wait()

    def _begin(self, turn: Turn) -> None:
        admission = contextlib.ExitStack()
        admission.enter_context(self._service.admitted())
        self._work[turn] = _Work(self._lineup.enter(turn), admission, self._service.clock())

    def _finish(self, turn: Turn) -> None:
        """Nothing is done for this turn any more."""
        work = self._work.pop(turn)
        work.entry.stop()
        work.admission.close()

    async def _answer(self, turn: Turn) -> Transcript | None:
        """Send everything for one turn. The transcript is of an answer that came to its own end."""
        error: ErrorEvent | None = None
        try:
            await self._sound(turn, self._work[turn])
        except Refusal as refusal:
            error = refusal.event(turn.request_id)
        voice, text = self._work[turn].voice, turn.text
        transcript = Transcript.unspoken(turn.request_id, text) if voice is None else voice.delivery.transcript(text)
        is_cancelled = turn.cancelled
        if is_cancelled:
            await self._send_event(transcript.cancelled(turn.played_s))
            self._account(turn, voice, "cancelled")
        elif error := turn.fault or error:
            await self._send_event(error)
            self._account(turn, voice, outcome_of(error.code), error.code)
        elif voice is not None:
            await self._send_event(voice.delivery.complete(voice.queue_s or 0.0))
            if turn.cancelled and turn.played_s is not None:  # the cancel came while that was on its way
                await self._send_event(transcript.cancelled(turn.played_s))
            self._account(turn, voice, "complete")
        return None if voice is None or turn.cancelled else transcript

    async def _sound(self, turn: Turn, work: _Work) -> None:
        """Send the start and all audio. Raises `Refusal`."""
        while (part := await work.entry.next()) is not None:
            if work.voice is None:
                work.voice = _Voice.of(turn, work.arrived_s, self._service)
                work.voice.delivery.playback = self._playback = self._playback.followed()
                await self._send_event(work.voice.delivery.start())
            await self._deliver(turn, work.voice, *part)
        if work.voice is not None and not turn.cancelled:
            for frame in await work.voice.rest():
                await self._send_audio(frame)
            work.voice.delivery.sent(1.0)

    async def _deliver(self, turn: Turn, voice: "_Voice", sentence: Sentence, recitation: Recitation) -> None:
        recitation.playback = voice.delivery.playback
        recitation.playback.resumed(self._service.clock())
        with recitation:
            async for spoken in recitation:
                voice.queue_s = recitation.queue_s if voice.queue_s is None else voice.queue_s
                times = voice.delivery.begin(spoken, sentence.start_char)
                if times is not None:
                    await self._send_event(times)
                await self._deliver_line(turn, voice, spoken)
                recitation.delivered(spoken.waveform.duration_s)

    async def _deliver_line(self, turn: Turn, voice: "_Voice", spoken: Spoken) -> None:
        """Encode and send one line, or what of it comes before a cancel."""
        done_samples = 0
        for piece in voice.delivery.pieces(spoken):
            frames = voice.framer.feed(await voice.delivery.encode(piece))
            size_bytes, sent_bytes = sum(map(len, frames)), 0
            for frame in frames:
                if turn.cancelled:
                    return
                await self._send_audio(frame)
                sent_bytes += len(frame)
                sent_samples = done_samples + len(piece) * sent_bytes / size_bytes
                voice.delivery.sent(sent_samples / len(spoken.waveform.samples))
            done_samples += len(piece)

    def _account(self, turn: Turn, voice: "_Voice | None", outcome: Outcome, code: str | None = None) -> None:
        if voice is None:
            self._observer.unheard(turn.request_id, outcome, code)
        else:
            self._observer.ended(voice.delivery, turn.text, outcome, queue_s=voice.queue_s, code=code)

    async def _tell(self, event: KnownEvent) -> None:
        """An event that is the whole answer to a message."""
        await self._send_event(event)
        self._observer.sent(event)

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
