"""A WebSocket session as a state: client messages in, effects out. No socket, no engine; the clock comes from outside.

Requests are answered in the order they came, one at a time; so are messages that cannot be acted on, which take their
place in the same queue. A context (`text` messages) is one request: its place is that of its first message, and it
keeps it until it is flushed, however slowly its text comes. `ping` and `hello` are answered at once, whatever is being
spoken. The queue is bounded: past its limit a request is told `busy` at once, and a faulty message gets its error at
once.

A context whose input ends by a fault (a bad message, too much text, nothing for too long) speaks what came before it
and ends with that error. The name of a context that ended before its flush stays taken until the flush comes: text that
crossed the end on its way must not begin a context of its own. A flush counts also in a message that is at fault.
"""

import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from speech_protocol import (
    Cancel,
    Capabilities,
    Close,
    ErrorCode,
    ErrorEvent,
    Hello,
    MessageError,
    Ping,
    Pong,
    Synthesize,
    Text,
    VoiceOptions,
    parse_message,
)
from speech_text import IncrementalSentenceChunker

from .alignment import Transcript
from .context import Sentence, TextContext
from .errors import Refusal
from .turn import Effect, Hush, Send, Speak, Stop, Turn

MAX_TEXT_CONTEXTS: Final = 8  # open at one time: they are answered one after the other
_BUSY_RETRY_S: Final = 1.0
_ENDED_KEPT: Final = 64  # names of contexts that ended before their flush
_PAST_KEPT: Final = 32  # answers of which a late cancel may still ask what was heard: two minutes of single sentences
_TOO_LATE: Final = "this text came after its context had ended, and is not spoken; begin another context"


@dataclass(slots=True, eq=False)
class _OpenContext:
    """A context that may get more text."""

    turn: Turn
    text: TextContext
    last_text_s: float


class Session:
    """One client's requests.

    `require_open` raises `Refusal` while no requests are taken, `chunker` where a context's options cannot be served;
    `capabilities` answers `hello`. `clock` counts seconds from anywhere.
    """

    def __init__(
        self,
        *,
        max_waiting: int,
        max_text_chars: int,
        max_contexts: int = MAX_TEXT_CONTEXTS,
        context_idle_s: float,
        require_open: Callable[[], None],
        chunker: Callable[[VoiceOptions], IncrementalSentenceChunker],
        capabilities: Callable[[], Capabilities],
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.closing = False
        """The client has asked for the end. What the queue still holds is owed."""
        self._max_waiting = max_waiting
        self._max_text_chars = max_text_chars
        self._max_contexts = max_contexts
        self._context_idle_s = context_idle_s
        self._require_open = require_open
        self._chunker = chunker
        self._capabilities = capabilities
        self._new_id = new_id
        self._clock = clock
        self._queue: deque[Turn | ErrorEvent] = deque()
        self._open: dict[str, _OpenContext] = {}
        self._ended: OrderedDict[str, bool] = OrderedDict()  # not flushed yet → whether the client knows of the end
        self._past: OrderedDict[tuple[str, bool], Transcript] = OrderedDict()  # by id, and whether it is a context's

    @property
    def head(self) -> Turn | ErrorEvent | None:
        """What is to be answered now, or is being answered."""
        return self._queue[0] if self._queue else None

    @property
    def waiting(self) -> int:
        """The answers that are owed."""
        return len(self._queue)

    @property
    def idle_at_s(self) -> float | None:
        """When `expire` is due on the session's clock, if ever."""
        if not self._open:
            return None
        return min(context.last_text_s for context in self._open.values()) + self._context_idle_s

    def answered(self, transcript: Transcript | None = None) -> None:
        """The head's answer has been sent, whatever it was. `transcript`: of what was spoken to its end."""
        turn = self._queue.popleft()
        if not isinstance(turn, Turn):
            return
        self._end(turn, is_known=True)  # where it failed before all of its text was there
        if transcript is not None:
            self._keep(transcript, is_context=turn.context is not None)

    def receive(self, data: bytes | str) -> list[Effect]:
        """One message, from a text or a binary frame alike. After `close` nothing counts any more."""
        if self.closing:
            return []
        try:
            message = parse_message(data, max_text_chars=self._max_text_chars)
            match message:
                case Synthesize():
                    return self._synthesize(message)
                case Text():
                    return self._text(message)
                case Cancel():
                    return self._cancel(message)
                case Hello():
                    return [Send(self._capabilities())]
                case Ping():
                    return [Send(Pong(message.id))]
                case Close():
                    return self._close()
        except MessageError as error:
            return self._faulty(error)

    def expire(self) -> list[Speak]:
        """End the contexts that have had no text for too long."""
        message = f"no text came for {self._context_idle_s:g} s; what came before is spoken, and the context is over"
        late_s = self._clock() - self._context_idle_s
        return self._give_up(
            (context for context in self._open.values() if context.last_text_s <= late_s),
            ErrorCode.REQUEST_STALE,
            message,
        )

    def abandon(self) -> list[Speak]:
        """The server has no time left: end the contexts that wait for text."""
        message = "the server had to shut down before this context was finished"
        return self._give_up(self._open.values(), ErrorCode.SHUTTING_DOWN, message)

    def _synthesize(self, message: Synthesize) -> list[Effect]:
        turn = Turn(message.request_id or self._new_id(), message)
        try:
            self._require_open()
        except Refusal as refusal:
            return self._owe(refusal.event(turn.request_id))
        if len(self._queue) >= self._max_waiting:
            return [Send(self._busy(turn.request_id))]
        self._queue.append(turn)
        return [Speak(turn, (Sentence(message.text),), is_all=True)]

    def _text(self, message: Text) -> list[Effect]:
        context = self._open.get(message.context_id)
        if context is not None:
            effects = self._extend(context, message)
            return [effect for effect in effects if effect.sentences or effect.is_all]
        if message.context_id in self._ended:
            return self._too_late(message)
        return self._begin(message)

    def _begin(self, message: Text) -> list[Effect]:
        """A context's first message."""
        context_id = message.context_id
        refused: list[Effect]
        try:
            self._require_open()
            text = TextContext(self._chunker(message.options), self._max_text_chars)
        except Refusal as refusal:
            refused = self._owe(refusal.event(context_id))
        else:
            if len(self._queue) < self._max_waiting and len(self._open) < self._max_contexts:
                turn = Turn(context_id, Synthesize("", message.options, context_id), text)
                self._queue.append(turn)
                context = self._open[context_id] = _OpenContext(turn, text, self._clock())
                return list(self._extend(context, message))
            refused = [Send(self._busy(context_id))]
        if not message.flush:
            self._remember(context_id, is_known=True)
        return refused

    def _extend(self, context: _OpenContext, message: Text) -> list[Speak]:
        context.last_text_s = self._clock()
        try:
            sentences = context.text.feed(message.delta, cut=message.cut)
        except Refusal as refusal:
            return self._fault(context, refusal.event(message.context_id), is_flushed=message.flush)
        if message.flush:
            return self._finish(context, sentences)
        return [Speak(context.turn, tuple(sentences), is_all=False)]

    def _too_late(self, message: Text) -> list[Effect]:
        """Text for a context that ended before its flush: said once, if there is something that will not be heard."""
        is_known = self._ended[message.context_id]
        if message.flush:
            del self._ended[message.context_id]
        if is_known or not message.delta.strip():
            return []
        if not message.flush:
            self._ended[message.context_id] = True
        return [Send(ErrorEvent.of(ErrorCode.CANCELLED, _TOO_LATE, message.context_id))]

    def _faulty(self, error: MessageError) -> list[Effect]:
        event = ErrorEvent.of(error.code, error.message, error.request_id)
        if error.context_id is None:
            return self._owe(event)
        context = self._open.get(error.context_id)
        if context is not None:
            return list(self._fault(context, event, is_flushed=error.ends_context))
        if error.ends_context:
            self._ended.pop(error.context_id, None)
        else:
            self._remember(error.context_id, is_known=True)
        return self._owe(event)

    def _cancel(self, message: Cancel) -> list[Effect]:
        """Cancelling what has ended, or never was, is no error: the answer and the cancel may cross on the way."""
        named = [turn for turn in self._owed() if _names(message, turn.request_id, turn.context is not None)]
        turns = [turn for turn in named if not turn.cancelled]
        for turn in turns:
            turn.played_s = message.played_s if turn is self.head else None
        if turns:
            return self._stop(turns)
        return self._cancel_past(message, may_tell=not named)  # named: the answer to an earlier cancel is on its way

    def _cancel_past(self, message: Cancel, *, may_tell: bool) -> list[Effect]:
        """A barge-in into audio that has all been sent: nothing to stop, but whoever played it plays it no more.

        What was heard is told where the client says how much it played. Of an answer this counts once, or a client
        could have its next one made before everybody else's again and again.
        """
        for key in reversed(self._past) if may_tell else ():
            if _names(message, *key):
                transcript = self._past.pop(key)
                return [Hush()] if message.played_s is None else [Send(transcript.cancelled(message.played_s)), Hush()]
        return [Hush()] if message.request_id is None and message.context_id is None else []

    def _close(self) -> list[Effect]:
        """The answer that is being delivered is still owed whole; the requests behind it are cancelled."""
        self.closing = True
        head = self.head
        stopped = self._stop(turn for turn in self._owed() if turn is not head and not turn.cancelled)
        return [*(speak for context in list(self._open.values()) for speak in self._finish(context)), *stopped]

    def _give_up(self, contexts: Iterable[_OpenContext], code: ErrorCode, message: str) -> list[Speak]:
        return [
            speak
            for context in list(contexts)
            for speak in self._fault(context, ErrorEvent.of(code, message, context.turn.request_id))
        ]

    def _fault(self, context: _OpenContext, error: ErrorEvent, *, is_flushed: bool = False) -> list[Speak]:
        """No more text is taken. What came is spoken, and the answer ends with `error`.

        `is_flushed`: the message at fault was the last one, so nothing more will come by that name.
        """
        context.turn.fault = error
        if not is_flushed:
            self._remember(context.turn.request_id, is_known=True)
        return self._finish(context)

    def _finish(self, context: _OpenContext, sentences: Iterable[Sentence] = ()) -> list[Speak]:
        """A context's text is over; `sentences` are the last but those that the chunker still holds."""
        del self._open[context.turn.request_id]
        return [Speak(context.turn, (*sentences, *context.text.flush()), is_all=True)]

    def _end(self, turn: Turn, *, is_known: bool) -> None:
        """A turn is over; where it is a context that was not flushed yet, its name stays taken."""
        context = self._open.get(turn.request_id)
        if context is not None and context.turn is turn:
            del self._open[turn.request_id]
            self._remember(turn.request_id, is_known=is_known)

    def _remember(self, context_id: str, *, is_known: bool) -> None:
        self._ended[context_id] = is_known
        if len(self._ended) > _ENDED_KEPT:
            self._ended.popitem(last=False)

    def _keep(self, transcript: Transcript, *, is_context: bool) -> None:
        self._past[transcript.request_id, is_context] = transcript
        self._past.move_to_end((transcript.request_id, is_context))
        while len(self._past) > 1 and (len(self._past) > _PAST_KEPT or self._past_chars > self._max_text_chars):
            self._past.popitem(last=False)

    @property
    def _past_chars(self) -> int:
        return sum(len(transcript.text) for transcript in self._past.values())

    def _owed(self) -> list[Turn]:
        return [entry for entry in self._queue if isinstance(entry, Turn)]

    def _busy(self, request_id: str) -> ErrorEvent:
        held = f"already waits for {len(self._queue)} answers, {len(self._open)} of them to contexts with open ends"
        text = f"this session {held}; send the next request after one of them"
        return ErrorEvent.of(ErrorCode.BUSY, text, request_id, _BUSY_RETRY_S)

    def _owe(self, error: ErrorEvent) -> list[Effect]:
        if len(self._queue) >= self._max_waiting:
            return [Send(error)]
        self._queue.append(error)
        return []

    def _stop(self, turns: Iterable[Turn]) -> list[Effect]:
        effects: list[Effect] = []
        for turn in turns:
            turn.cancelled = True
            self._end(turn, is_known=False)
            effects.append(Stop(turn))
        return effects


def _names(message: Cancel, request_id: str, is_context: bool) -> bool:
    """Whether a cancel means this request. A context goes by either name, a request is no context."""
    if message.request_id is not None:
        return message.request_id == request_id
    return message.context_id is None or (is_context and message.context_id == request_id)
