"""What a session's client is owed, and whether what comes is that: docs/protocol.md from the client's side.

The soak and the fuzzers hold every session against it. It is told each message before it is sent and each frame as it
comes, and raises `Violation` for what the contract does not allow.

A client does not know when the server has read what it sent, so what comes may have more than one meaning (a `busy` may
be about the first or the second request of a name). The ledger keeps every `Reading` that the contract allows, and
complains when none is left.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from speech_protocol import (
    Audio,
    Cancel,
    Capabilities,
    Close,
    Control,
    ErrorCode,
    ErrorEvent,
    EventError,
    Hello,
    MessageError,
    Ping,
    Pong,
    ServerEvent,
    SessionClosed,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Synthesize,
    Text,
    Timestamps,
    UnknownEvent,
    classify,
    parse_message,
    read_frame,
)

from tests.load.reading import (
    Ended,
    Entry,
    Limits,
    Reading,
    cancelled,
    cancelled_by,
    closed_by,
    completed,
    failed,
    started,
)

_TOLERANCE_S: Final = 0.002
_WAV_HEADER_BYTES: Final = 44
_MAX_READINGS: Final = 64


class Violation(AssertionError):
    """The server has broken the contract."""


class TooAmbiguous(Exception):
    """The client has said so many things without a name that nobody can tell what an answer is about."""


@dataclass(slots=True)
class _Hearing:
    """The answer that is being heard."""

    start: SynthesisStart
    audio_bytes: int = 0
    last_s: float = 0.0
    words: list[tuple[int, int, str]] = field(default_factory=list)


class Ledger:
    """One session's. Call `sent` before a message is sent and `received` for each frame that comes.

    Both raise `TooAmbiguous`.
    """

    def __init__(self, limits: Limits) -> None:
        self.is_closing = False
        """The client has said `close`."""
        self.is_over = False
        """Nothing more may come: `session_closed` has, or the server has no room for this session."""
        self.is_turned_away = False
        """The server had no room for this session, and answers nothing of it."""
        self._limits = limits
        self._readings = [Reading()]
        self._hearing: _Hearing | None = None
        self._pings: deque[str | None] = deque()
        self._hellos = 0

    @property
    def owed(self) -> tuple[Entry, ...]:
        """The answers to come, in order."""
        return self._readings[0].owed

    @property
    def ended(self) -> tuple[Ended, ...]:
        """The answers that came to an end, in order."""
        return self._readings[0].ended

    @property
    def is_waiting_for_silence(self) -> bool:
        """Whether what is to be answered next has been cancelled, so that nothing stands in the way of its answer."""
        heads = [reading.head for reading in self._readings]
        return not self.is_closing and all(head is not None and head.is_cancelled for head in heads)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is owed."""
        return not self._pings and not self._hellos and any(not reading.owed for reading in self._readings)

    def require_quiet(self) -> None:
        """Raises `Violation` where something that is owed has not come."""
        quiet = [reading for reading in self._readings if not reading.owed]
        if not quiet or self._pings or self._hellos:
            pongs, hellos = list(self._pings), self._hellos
            raise Violation(f"these answers never came: {self.owed}, pongs {pongs}, capabilities {hellos}")
        self._readings = quiet

    # What the client says

    def sent(self, data: bytes | str) -> None:
        """A message is on its way."""
        if self.is_closing:
            return
        try:
            message = parse_message(data, max_text_chars=self._limits.max_text_chars)
        except MessageError as error:
            fault = error
            self._branch(lambda reading: self._faulty(reading, fault, data))
            return
        match message:
            case Ping(name):
                self._pings.append(name)
            case Hello():
                self._hellos += 1
            case Synthesize():
                entry = Entry(message.request_id, message.text)
                self._branch(lambda reading: [reading.owing(entry, self._limits)])
            case Text():
                self._branch(lambda reading: [self._text(reading, message)])
            case Cancel():
                self._branch(lambda reading: [cancelled_by(reading, message)])
            case Close():
                self.is_closing = True
                self._branch(lambda reading: [closed_by(reading)])

    def _text(self, reading: Reading, message: Text) -> Reading:
        name = message.context_id
        if name not in reading.taken:
            entry = Entry(name, message.delta, is_context=True, is_open=not message.flush)
            reading = reading.owing(entry, self._limits)
        elif (index := reading.open_context(name)) is not None:
            entry = reading.owed[index]
            entry = replace(entry, text=entry.text + message.delta, is_open=not message.flush)
            reading = reading.put(index, entry)
        elif name in reading.hushed and message.delta.strip():
            reading = replace(reading, hushed=reading.hushed - {name}, late=reading.late | {name})
        if message.flush:
            return replace(reading, taken=reading.taken - {name}, hushed=reading.hushed - {name})
        return replace(reading, taken=reading.taken | {name})

    def _faulty(self, reading: Reading, error: MessageError, data: bytes | str) -> Iterable[Reading]:
        name = error.context_id
        malformed = Entry(error.request_id, fault=error.code, is_request=False)
        if name is None:
            yield reading.owing(malformed, self._limits)
            return
        index = reading.open_context(name)
        if _says_flush(data):
            reading = replace(reading, taken=reading.taken - {name}, hushed=reading.hushed - {name})
        else:
            reading = replace(reading, taken=reading.taken | {name})
        if index is not None:
            yield reading.put(index, replace(reading.owed[index], fault=error.code, is_open=False))
        yield reading.owing(malformed, self._limits)  # also where the server has just ended that context

    # What the server says

    def received(self, frame: bytes | str) -> ServerEvent | Audio:
        """A frame has come: the event that it is, or the audio."""
        if self.is_over:
            raise Violation(f"after session_closed came {_shown(frame)}")
        if isinstance(frame, bytes):
            return self._audio(frame)
        try:
            event = read_frame(classify(frame))
        except EventError as error:
            raise Violation(f"{error}: {_shown(frame)}") from error
        match event:
            case Pong(name):
                if not self._pings or self._pings.popleft() != name:
                    raise Violation(f"{event} is not the one that is owed next")
            case Capabilities():
                self._hellos -= 1
                if self._hellos < 0:
                    raise Violation("capabilities that nobody asked for")
            case SynthesisStart():
                self._need(event, lambda reading: started(reading, event))
                self._hearing = _Hearing(event)
            case Timestamps():
                self._timestamps(event)
            case SynthesisComplete():
                self._complete(event)
            case SynthesisCancelled():
                self._need(event, lambda reading: cancelled(reading, event))
            case ErrorEvent(None, ErrorCode.BUSY):
                if self.ended or self._hearing is not None:
                    raise Violation("a session that was let in is told that there is no room")
                self.is_turned_away = self.is_over = True
            case ErrorEvent():
                self._need(event, lambda reading: failed(reading, event))
            case SessionClosed():
                if not self.is_closing:
                    raise Violation("session_closed, and the client did not close")
                self.require_quiet()
                self.is_over = True
            case UnknownEvent() | Audio():
                raise Violation(f"the contract has no such event: {_shown(frame)}")
        return event

    def _audio(self, frame: bytes) -> Audio:
        hearing = self._hearing
        self._need(f"{len(frame)} bytes of audio", lambda reading: [reading] if reading.speaking else [])
        assert hearing is not None
        if not frame or (hearing.start.format == "pcm" and len(frame) % 2):
            raise Violation(f"a frame of {len(frame)} bytes of {hearing.start.format}")
        if isinstance(classify(frame), Control):
            raise Violation("an audio frame that reads as a JSON object")
        hearing.audio_bytes += len(frame)
        return Audio(frame)

    def _timestamps(self, event: Timestamps) -> None:
        self._need(event, lambda reading: [reading] if reading.speaking == event.request_id else [])
        hearing = self._hearing
        assert hearing is not None
        for word in event.words:
            if not hearing.last_s <= word.start_s < word.end_s:
                raise Violation(f"{word} does not come after what ended at {hearing.last_s} s")
            hearing.last_s = word.end_s
            hearing.words.append((word.start_char, word.end_char, word.word))

    def _complete(self, event: SynthesisComplete) -> None:
        hearing = self._hearing
        words = hearing.words if hearing is not None else []
        self._need(event, lambda reading: completed(reading, event, words))
        assert hearing is not None
        if hearing.audio_bytes != event.audio_bytes:
            raise Violation(f"{hearing.audio_bytes} bytes of audio came, and the end says {event.audio_bytes}")
        if hearing.last_s > event.total_duration_s + _TOLERANCE_S:
            raise Violation(f"a word ends at {hearing.last_s} s, of {event.total_duration_s} s of audio")
        if hearing.start.format in ("pcm", "wav"):
            samples = (event.audio_bytes - (_WAV_HEADER_BYTES if hearing.start.format == "wav" else 0)) / 2
            if abs(samples / hearing.start.sample_rate - event.total_duration_s) > _TOLERANCE_S:
                raise Violation(f"{event} of {hearing.start}: the bytes do not last as long")

    # The ways to read it

    def _branch(self, change: Callable[[Reading], Iterable[Reading]]) -> None:
        after: dict[Reading, None] = {}
        for reading in self._readings:
            after |= dict.fromkeys(change(reading))
            if len(after) > _MAX_READINGS:
                raise TooAmbiguous("there are too many ways to understand this session")
        self._readings = list(after)

    def _need(self, what: object, change: Callable[[Reading], Iterable[Reading]]) -> None:
        before = self._readings
        self._branch(change)
        if not self._readings:
            self._readings = before
            shown = "; or ".join(
                f"owed {reading.owed[:3]}, past {[heard.name for heard in reading.past]}, barge-ins {reading.barge_ins}"
                for reading in before[:3]
            )
            raise Violation(f"{what} is not what is owed: {shown}")


def _says_flush(data: bytes | str) -> bool:
    frame = classify(data)
    return isinstance(frame, Control) and frame.fields.get("flush") is True


def _shown(frame: bytes | str) -> str:
    return f"{len(frame)} bytes" if isinstance(frame, bytes) else frame[:300]
