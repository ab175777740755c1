"""A WebSocket session as a state: client messages in, effects out. No socket, no engine, no clock.

Requests are answered in the order they came, one at a time; so are messages that cannot be acted on, which take their
place in the same queue. `ping` and `hello` are answered at once, whatever is being spoken. The queue is bounded: past
its limit a request is told `busy` at once, and a faulty message gets its error at once.
"""

import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from speech_protocol import (
    Cancel,
    Capabilities,
    Close,
    ErrorCode,
    ErrorEvent,
    Hello,
    KnownEvent,
    MessageError,
    Ping,
    Pong,
    Synthesize,
    Text,
    parse_message,
)

from .errors import Refusal

_BUSY_RETRY_S = 1.0
_NO_TEXT_MESSAGES = '"text" messages are not supported by this server yet; send "synthesize"'


@dataclass(slots=True, eq=False)
class Turn:
    """A request that waits for its answer, or is being answered."""

    request_id: str
    synthesize: Synthesize
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Send:
    """Send this event now, between whatever else is sent."""

    event: KnownEvent


@dataclass(frozen=True, slots=True)
class Begin:
    """Start to prepare and synthesise this turn; its answer is sent when it comes to the head of the queue."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Stop:
    """Make no more audio for this turn, and send none."""

    turn: Turn


Effect = Send | Begin | Stop


class Session:
    """`require_open` raises `Refusal` while no requests are taken; `capabilities` answers `hello`."""

    def __init__(
        self,
        *,
        max_waiting: int,
        max_text_chars: int,
        require_open: Callable[[], None],
        capabilities: Callable[[], Capabilities],
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.closing = False
        """The client has asked for the end. What the queue still holds is owed."""
        self._max_waiting = max_waiting
        self._max_text_chars = max_text_chars
        self._require_open = require_open
        self._capabilities = capabilities
        self._new_id = new_id
        self._queue: deque[Turn | ErrorEvent] = deque()

    @property
    def head(self) -> Turn | ErrorEvent | None:
        """What is to be answered now, or is being answered."""
        return self._queue[0] if self._queue else None

    @property
    def waiting(self) -> int:
        """The answers that are owed."""
        return len(self._queue)

    def answered(self) -> None:
        """The head's answer has been sent, whatever it was."""
        self._queue.popleft()

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
                    return self._owe(ErrorEvent.of(ErrorCode.INVALID_MESSAGE, _NO_TEXT_MESSAGES))
                case Cancel():
                    return self._cancel(message)
                case Hello():
                    return [Send(self._capabilities())]
                case Ping():
                    return [Send(Pong(message.id))]
                case Close():
                    return self._close()
        except MessageError as error:
            return self._owe(ErrorEvent.of(error.code, error.message, error.request_id))

    def _synthesize(self, message: Synthesize) -> list[Effect]:
        turn = Turn(message.request_id or self._new_id(), message)
        try:
            self._require_open()
        except Refusal as refusal:
            return self._owe(refusal.event(turn.request_id))
        if len(self._queue) >= self._max_waiting:
            text = f"this session already waits for {len(self._queue)} answers; send the next request after one of them"
            return [Send(ErrorEvent.of(ErrorCode.BUSY, text, turn.request_id, _BUSY_RETRY_S))]
        self._queue.append(turn)
        return [Begin(turn)]

    def _cancel(self, message: Cancel) -> list[Effect]:
        """Cancelling what has ended, or never was, is no error: the answer and the cancel may cross on the way."""
        if message.context_id is not None:
            return []
        return self._stop(
            turn for turn in self._turns() if message.request_id is None or message.request_id == turn.request_id
        )

    def _close(self) -> list[Effect]:
        """The answer that is being delivered is still owed whole; the requests behind it are cancelled."""
        self.closing = True
        return self._stop(turn for turn in self._turns() if turn is not self.head)

    def _turns(self) -> list[Turn]:
        return [entry for entry in self._queue if isinstance(entry, Turn) and not entry.cancelled]

    def _owe(self, error: ErrorEvent) -> list[Effect]:
        if len(self._queue) >= self._max_waiting:
            return [Send(error)]
        self._queue.append(error)
        return []

    def _stop(self, turns: Iterable[Turn]) -> list[Effect]:
        effects: list[Effect] = []
        for turn in turns:
            turn.cancelled = True
            effects.append(Stop(turn))
        return effects
