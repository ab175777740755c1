"""One conversation with a speech server: text in, attributed events out, over any transport.

Two tasks own the connection. The reader alone receives (a `receive` is never cancelled while the connection lives),
joins fragments, attributes frames and puts events into a bounded queue: when the caller does not read events, it
stops reading the wire. The writer alone sends. Deadlines are an alarm over the ledger's next due time. The first thing
that goes wrong becomes the session's failure, which wakes every waiter and is raised by every later call.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from speech_protocol import (
    Audio,
    Cancel,
    Capabilities,
    ClientMessage,
    Close,
    ErrorEvent,
    EventError,
    FragmentError,
    FragmentJoiner,
    Hello,
    Ping,
    Pong,
    ServerEvent,
    SessionClosed,
    SynthesisCancelled,
    SynthesisComplete,
    Synthesize,
    Text,
    UnknownEvent,
    VoiceOptions,
    read_frame,
    render_message,
)

from .alarm import Alarm
from .answers import Answers
from .channel import Channel
from .closing import to_the_end
from .context import SpeechContext
from .errors import (
    SpeechError,
    SpeechProtocolError,
    SpeechRefusedError,
    SpeechRequestError,
    SpeechSessionEnded,
    SpeechTimeoutError,
    SpeechUsageError,
)
from .inbox import Inbox
from .ledger import Deadlines, Due, RequestEvent, RequestLedger, SpeechEvent, request_ids
from .transport import Connection, Transport
from .websocket import WebSocketTransport

_LOG = logging.getLogger(__name__)

DEFAULT_MAX_IN_FLIGHT = 8  # sentences ahead of the listener: a server needs two to keep busy, the rest rides out bursts
_REASON_S = 1.0  # between a failed send and the failed receive that explains it
_OUTBOX_MESSAGES = 64  # room for cancels and pings, beside the requests that max_in_flight bounds

_DEFAULT_DEADLINES = Deadlines()
_GO_ON = "open a new session and send again what was not answered"


class SpeechSession:
    """An open session. Made by `SpeechSession.connect` or `open`; used by tasks of one event loop.

    Use either `speak`, one text at a time, or `send` with `events`, pipelined. One task at a time reads events.
    """

    def __init__(self, connection: Connection, deadlines: Deadlines, max_in_flight: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._deadlines = deadlines
        self._ledger = RequestLedger(deadlines, self._loop.time())
        self._slots: Channel[None] = Channel(max_in_flight)
        self._inbox = Inbox(self._ledger)
        self._outbox: Channel[str] = Channel(max_in_flight + _OUTBOX_MESSAGES)
        self._answers = Answers()
        self._ids = request_ids()
        self._speaking: str | None = None  # the request of the latest speak(), until it is done
        self._greeted = False  # the server's first answer has come
        self._finished = False
        self._saying_goodbye = False
        self._failure: Exception | None = None
        self._alarm = Alarm(self._due, lambda due: self._fail(due.error()))
        self._tasks = [self._loop.create_task(self._read()), self._loop.create_task(self._write())]

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        target: Transport | str,
        *,
        deadlines: Deadlines = _DEFAULT_DEADLINES,
        max_in_flight: int = DEFAULT_MAX_IN_FLIGHT,
    ) -> AsyncIterator["SpeechSession"]:
        """A session for the length of an `async with`.

        `target`: a transport, or the address of a WebSocket (`ws://host:port`). On entering, the server has answered
        `hello`. A body that ends without an exception says `close` and waits up to `close_s` for the server; any
        other end, a cancellation among them, drops the connection at once. Raises `SpeechConnectError`,
        `SpeechTimeoutError`.
        """
        session = await cls.open(target, deadlines=deadlines, max_in_flight=max_in_flight)
        try:
            yield session
        except BaseException:
            await session.close(in_order=False)
            raise
        await session.close()

    @classmethod
    async def open(
        cls,
        target: Transport | str,
        *,
        deadlines: Deadlines = _DEFAULT_DEADLINES,
        max_in_flight: int = DEFAULT_MAX_IN_FLIGHT,
    ) -> "SpeechSession":
        """A session whose end is the caller's to see to, with `close`. Otherwise like `connect`."""
        transport = WebSocketTransport(target) if isinstance(target, str) else target
        session: SpeechSession | None = None
        try:
            async with asyncio.timeout(deadlines.connect_s) as limit:
                session = cls(await transport.connect(), deadlines, max_in_flight)
                await session._first_answer()
        except BaseException as error:
            if session is not None:
                await session.close(in_order=False)
            if isinstance(error, TimeoutError) and limit.expired():
                raise SpeechTimeoutError(
                    "connection",
                    deadlines.connect_s,
                    f"no session within {deadlines.connect_s:g} s: the address does not answer, or not yet",
                ) from error
            raise
        return session

    async def close(self, *, in_order: bool = True) -> None:
        """End the session: with `close` and up to `close_s` for the server's goodbye, or by dropping the connection.

        A cancellation meanwhile takes effect afterwards. Harmless a second time.
        """
        if not self._saying_goodbye:
            await to_the_end(self._close(in_order=in_order))

    @property
    def is_open(self) -> bool:
        """Whether more can be asked: nothing has ended the session so far."""
        return self._failure is None and not self._saying_goodbye

    @property
    def capabilities(self) -> Capabilities:
        """What the server said of itself when the session was opened."""
        return self._capabilities

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The requests that the server has not yet answered to the end, in the order they were sent."""
        return self._ledger.in_flight

    async def speak(self, text: str, options: VoiceOptions | None = None) -> AsyncGenerator[SpeechEvent, None]:
        """Speak one text and yield its events, from `SynthesisStart` to `SynthesisComplete` or `SynthesisCancelled`.

        Leaving the loop early cancels the request; the next `speak` may follow at once. Raises `SpeechRequestError`
        where the server refuses or fails it, `SpeechUsageError` beside `send` and `events`, and whatever ends the
        session.
        """
        self._check_may_speak()
        request_id = self._speaking = next(self._ids)
        try:
            await self._submit(request_id, Synthesize(text, options or VoiceOptions(), request_id))
            while self._speaking == request_id:
                item = await self._inbox.next()
                if item is None or item.request_id not in (request_id, None):
                    continue  # the rest of a request that was left early
                match item.event:
                    case ErrorEvent() as error:
                        if error.request_id == request_id:
                            self._speaking = None
                        raise SpeechRequestError.of(error)
                    case SynthesisComplete() | SynthesisCancelled() as last:
                        self._speaking = None
                        yield last
                        return
                    case event:
                        yield event
            raise SpeechUsageError("this speak() was given up when another began on the same session")
        finally:
            if self._speaking == request_id:
                self._abandon(request_id)

    async def send(self, text: str, options: VoiceOptions | None = None) -> str:
        """Queue one text and return its request id; its events come from `events()`.

        Waits while `max_in_flight` requests are unanswered, so events must be read by another task meanwhile. Raises
        `SpeechUsageError` beside `speak`, and whatever ended the session.
        """
        if self._speaking is not None:
            raise SpeechUsageError("send() and speak() do not mix: finish or leave the loop over speak() first")
        request_id = next(self._ids)
        await self._submit(request_id, Synthesize(text, options or VoiceOptions(), request_id))
        return request_id

    async def open_context(self, options: VoiceOptions | None = None) -> SpeechContext:
        """Begin a text that is still being written; the server speaks each sentence as it is complete.

        It is answered as one request, in the place that it takes now, under its `id`. Waits and raises like `send`. No
        deadline runs for its audio before it is finished, or cancelled with `cancel(context.id)`.
        """
        if self._speaking is not None:
            raise SpeechUsageError("open_context() and speak() do not mix: finish or leave the loop over speak() first")
        context_id = next(self._ids)
        await self._submit(context_id, Text(context_id, "", options=options or VoiceOptions()), is_open=True)
        return SpeechContext(
            context_id,
            say=lambda message: self._outbox.put(render_message(message)),
            is_over=lambda: context_id not in self._ledger or self._inbox.is_muted(context_id),
            finished=lambda: self._written((context_id,)),
        )

    def finish(self) -> None:
        """Nothing more will be sent for now: `events()` ends once all is answered. A later `send` begins anew."""
        self._finished = True
        self._end_if_answered()

    async def events(self) -> AsyncGenerator[RequestEvent, None]:
        """Everything that comes, in order, each with its request; errors of single requests are `ErrorEvent`s among it.

        Ends after `finish()` once all is answered. Raises `SpeechUsageError` beside `speak`, and what ends the session.
        """
        if self._speaking is not None:
            raise SpeechUsageError("events() and speak() do not mix: finish or leave the loop over speak() first")
        while (item := await self._inbox.next()) is not None:
            yield item

    async def cancel(self, request_id: str | None = None, *, played_s: float | None = None) -> None:
        """Stop a request or a context, or all of them. Their audio that was not read yet is dropped at once.

        `played_s`: how much of the request's audio the listener has heard; the server's `SynthesisCancelled`, which
        comes as an event, tells accordingly what was spoken. With it, a request that is already complete is answered
        so as well: audio is sent faster than it is played.
        """
        request_ids = self._ledger.in_flight if request_id is None else (request_id,)
        self._inbox.mute(request_ids, everything=request_id is None)
        self._written(request_ids)
        await self._outbox.put(render_message(Cancel(request_id=request_id, played_s=played_s)))

    async def hello(self) -> Capabilities:
        """What the server can do. Raises what ends the session: `SpeechTimeoutError` after `silence_s` of silence."""
        await self._ask(Hello())
        return await self._answers.to_hello()

    async def ping(self) -> None:
        """Return when the server has answered. Raises like `hello`."""
        ping_id = next(self._ids)
        await self._ask(Ping(ping_id))
        await self._answers.to_ping(ping_id)

    # The life of a session

    async def _first_answer(self) -> None:
        await self._outbox.put(render_message(Hello()))
        self._capabilities = await self._answers.to_hello()

    async def _close(self, *, in_order: bool) -> None:
        """End the session; bounded by twice `close_s`, or at once where it need not be orderly."""
        self._saying_goodbye = True
        self._inbox.discard()
        in_order = in_order and self._failure is None
        if in_order:
            self._outbox.put_now(render_message(Close()))
            await asyncio.wait({self._answers.goodbye}, timeout=self._deadlines.close_s)
        try:
            await self._connection.close(self._deadlines.close_s if in_order else 0)
        finally:
            self._fail(SpeechUsageError("this session is closed: open a new one with SpeechSession.connect"))
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _fail(self, reason: Exception) -> None:
        """The first reason counts. Everybody who waits learns it; what had arrived before can still be read."""
        if self._failure is not None:
            return
        self._failure = reason
        self._inbox.close(reason)
        self._outbox.close(reason)
        self._slots.close(reason)
        self._answers.fail(reason)
        self._alarm.stop()

    # Sending

    async def _submit(self, request_id: str, message: Synthesize | Text, *, is_open: bool = False) -> None:
        await self._slots.put(None)
        try:
            await self._outbox.put(render_message(message))
        except BaseException:
            self._slots.get_now()
            raise
        self._finished = False
        self._ledger.sent(request_id, self._loop.time(), is_open=is_open)
        self._alarm.watch()

    def _written(self, request_ids: tuple[str, ...]) -> None:
        for request_id in request_ids:
            self._ledger.written(request_id, self._loop.time())
        self._alarm.watch()

    async def _ask(self, message: ClientMessage) -> None:
        await self._outbox.put(render_message(message))
        self._ledger.asked(self._loop.time())
        self._alarm.watch()

    def _abandon(self, request_id: str) -> None:
        """Stop a request whose events nobody will read. At most one at a time, so it needs no waiting for room."""
        self._speaking = None
        if request_id in self._ledger and self._failure is None:
            self._inbox.mute((request_id,))
            self._outbox.put_now(render_message(Cancel(request_id=request_id)))

    def _check_may_speak(self) -> None:
        if self._inbox.is_read:
            raise SpeechUsageError("another task reads this session's events: wait for it, or open a second session")
        if self._speaking is not None:
            self._abandon(self._speaking)
        elif not self._inbox.wants_none_in_flight:
            raise SpeechUsageError(
                "speak() and send() do not mix: read events() to the end of what was sent, or open a second session"
            )

    async def _write(self) -> None:
        try:
            while True:
                await self._connection.send(await self._outbox.get())
        except SpeechError as error:
            await asyncio.wait(self._tasks[:1], timeout=_REASON_S)  # the reader learns better why the stream is over
            self._fail(error)

    # Receiving

    async def _read(self) -> None:
        joiner = FragmentJoiner()
        try:
            while (message := await self._connection.receive()) is not None:
                self._ledger.frame_came(self._loop.time())
                frame = joiner.feed(message.data, is_text=message.is_text, final=message.is_final)
                if frame is not None and frame != Audio(b""):
                    await self._take(read_frame(frame))
                self._alarm.watch()
            if not self._answers.goodbye.done():
                self._fail(SpeechSessionEnded(f"the server ended the stream without a goodbye; {_GO_ON}"))
        except (EventError, FragmentError) as error:
            self._fail(SpeechProtocolError(f"the server broke the wire contract: {error}"))
        except Exception as error:  # noqa: BLE001 - whatever stops the reader must reach those who wait for it, bugs too
            self._fail(error)

    async def _take(self, event: ServerEvent | Audio) -> None:
        match event:
            case UnknownEvent():
                _LOG.debug("passing over an event of unknown type %r", event.type)
            case SessionClosed() if self._saying_goodbye:
                self._answers.closed()
            case SessionClosed():
                raise SpeechSessionEnded(f"the server closed the session, as it does before it stops; {_GO_ON}")
            case Capabilities():
                self._greeted = True
                self._ledger.answered()
                self._answers.capabilities(event)
            case Pong():
                self._ledger.answered()
                self._answers.pong(event.id)
            case ErrorEvent(request_id=None) if not self._greeted:
                raise SpeechRefusedError(
                    event.code,
                    f"the speech server takes no session now ({event.code}): {event.message}",
                    retryable=event.retryable,
                    retry_after_s=event.retry_after_s,
                )
            case _:
                waiting = len(self._ledger.in_flight)
                item = self._ledger.absorb(event, self._loop.time())
                if len(self._ledger.in_flight) < waiting:
                    self._slots.get_now()
                await self._inbox.deliver(item)
                self._end_if_answered()

    def _end_if_answered(self) -> None:
        if self._finished and not self._ledger.in_flight and self._failure is None:
            self._finished = False
            self._inbox.end()

    def _due(self) -> Due | None:
        return None if self._failure is not None or self._saying_goodbye else self._ledger.due()
