"""One way to understand what a session's client has seen of it: what is owed, what was heard, and what has ended.

Each function here takes one event or message, and gives the readings that the contract allows after it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from speech_protocol import Cancel, ErrorCode, ErrorEvent, SynthesisCancelled, SynthesisComplete, SynthesisStart

REFUSALS: Final = {
    ErrorCode.INVALID_MESSAGE,  # a lexicon that no voice can read
    ErrorCode.TEXT_EMPTY,
    ErrorCode.TEXT_TOO_LONG,
    ErrorCode.VOICE_UNKNOWN,
    ErrorCode.FORMAT_UNSUPPORTED,
    ErrorCode.SAMPLE_RATE_UNSUPPORTED,
    ErrorCode.LANGUAGE_UNSUPPORTED,
    ErrorCode.REQUEST_STALE,
    ErrorCode.BUSY,
    ErrorCode.RATE_LIMITED,
    ErrorCode.SYNTHESIS_FAILED,
    ErrorCode.SHUTTING_DOWN,
}
"""What a request that its parser takes may still be refused for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Those of the server's bounds that decide what an answer may be."""

    max_text_chars: int
    max_waiting: int
    max_contexts: int


@dataclass(frozen=True, slots=True)
class Ended:
    """One request's end, as its client saw it. `code`: of an error."""

    request_id: str | None
    outcome: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that is owed one answer.

    `name` None: of a request, the server gives one; of a malformed message, it had none. `fault`: the error that a
    malformed message must end this with. `is_urgent`: so much was owed before it that it may be refused out of turn.
    """

    name: str | None
    text: str = ""
    fault: str | None = None
    is_context: bool = False
    is_request: bool = True
    is_open: bool = False
    is_cancelled: bool = False
    is_urgent: bool = False
    is_started: bool = False

    def goes_by(self, request_id: str | None) -> bool:
        """Whether an event with that id may be about this."""
        return self.name == request_id or (self.name is None and self.is_request and request_id is not None)

    def takes(self, code: str) -> bool:
        """Whether that error may be the answer to this."""
        return code == self.fault if self.fault is not None else code in REFUSALS


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer that was heard and is over, of which a late cancel may still ask."""

    name: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand what has come.

    `taken`: the names of contexts that were not flushed. `hushed`: those of them that the client cancelled. `late`:
    text was sent for these afterwards, which may be told once. `barge_ins`: cancels with `played_s`, each of which may
    be answered for one of `past`.
    """

    owed: tuple[Entry, ...] = ()
    taken: frozenset[str] = frozenset()
    hushed: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    past: tuple[Heard, ...] = ()
    barge_ins: tuple[Cancel, ...] = ()
    ended: tuple[Ended, ...] = ()

    @property
    def head(self) -> Entry | None:
        """What is to be answered next."""
        return self.owed[0] if self.owed else None

    @property
    def speaking(self) -> str | None:
        """Whose audio is coming."""
        return self.owed[0].name if self.owed and self.owed[0].is_started else None

    def owing(self, entry: Entry, limits: Limits) -> "Reading":
        """With one more answer to come."""
        contexts = sum(other.is_open and not other.is_cancelled for other in self.owed)
        is_full = len(self.owed) >= limits.max_waiting or (entry.is_context and contexts >= limits.max_contexts)
        return replace(self, owed=(*self.owed, replace(entry, is_urgent=is_full)))

    def put(self, index: int, entry: Entry) -> "Reading":
        """With that entry in that place."""
        return replace(self, owed=(*self.owed[:index], entry, *self.owed[index + 1 :]))

    def end(self, index: int, ended: Ended) -> "Reading":
        """With an answer less to come."""
        return replace(self, owed=self.owed[:index] + self.owed[index + 1 :], ended=(*self.ended, ended))

    def read_until(self, index: int) -> "Reading":
        """The server has read past the first `index` entries, and has refused none of them: they wait their turn."""
        passed = tuple(replace(entry, is_urgent=False) for entry in self.owed[:index])
        return replace(self, owed=passed + self.owed[index:])

    def open_context(self, name: str) -> int | None:
        """Where the context is that takes text by that name."""
        found = [
            index
            for index, entry in enumerate(self.owed)
            if entry.name == name and entry.is_open and not entry.is_cancelled
        ]
        return found[-1] if found else None


def started(reading: Reading, event: SynthesisStart) -> Iterable[Reading]:
    """The audio of what is next begins."""
    head = reading.head
    if head is not None and head.is_request and not head.is_started and head.goes_by(event.request_id):
        yield reading.put(0, replace(head, name=event.request_id, is_started=True))


def completed(reading: Reading, event: SynthesisComplete, words: Iterable[tuple[int, int, str]]) -> Iterable[Reading]:
    """What is next has been heard to its end."""
    head = reading.head
    if head is None or reading.speaking != event.request_id or head.is_open or head.fault is not None:
        return
    if all(head.text[start:end] == word for start, end, word in words):
        heard = Heard(event.request_id, head)
        yield replace(reading.end(0, Ended(event.request_id, "complete")), past=(*reading.past, heard))


def cancelled(reading: Reading, event: SynthesisCancelled) -> Iterable[Reading]:
    """The answer to a cancel of what is next, or to a barge-in into what was heard already."""
    name, text = event.request_id, event.text_spoken + event.text_remaining
    head = reading.head
    if head is not None and head.is_cancelled and head.goes_by(name) and _is_text_of(text, head):
        yield reading.end(0, Ended(name, "cancelled"))
    for index, heard in enumerate(reading.past):
        entry = heard.entry
        if reading.speaking == name and head is not None and head.is_context == entry.is_context:
            continue  # that one would have been meant
        for number, cancel in enumerate(reading.barge_ins):
            if heard.name == name and _is_text_of(text, entry) and _means(cancel, name, entry.is_context):
                yield replace(
                    reading,
                    past=reading.past[:index] + reading.past[index + 1 :],
                    barge_ins=reading.barge_ins[:number] + reading.barge_ins[number + 1 :],
                )


def failed(reading: Reading, event: ErrorEvent) -> Iterable[Reading]:
    """The answer to what is next, the refusal of something that is one too many, or word of text that came too late."""
    name, code = event.request_id, event.code
    for index, entry in enumerate(reading.owed):
        if not (entry.goes_by(name) and entry.takes(code)):
            continue
        after = reading.end(index, Ended(name, "error", code))
        if index == 0:
            is_heard = entry.is_started and name is not None
            yield replace(after, past=(*reading.past, Heard(name or "", entry))) if is_heard else after
        elif entry.is_urgent and not entry.is_started:
            yield after.read_until(index)
    if code == ErrorCode.CANCELLED and name in reading.late:
        yield replace(reading, late=reading.late - {name})


def cancelled_by(reading: Reading, message: Cancel) -> Reading:
    """The client has cancelled what it names, or all."""
    hushed = set(reading.hushed)
    owed = []
    for entry in reading.owed:
        if entry.is_request and _means(message, entry.name, entry.is_context):
            if entry.is_open and entry.name is not None and not entry.is_cancelled:
                hushed.add(entry.name)
            entry = replace(entry, is_cancelled=True)
        owed.append(entry)
    barge_ins = reading.barge_ins if message.played_s is None else (*reading.barge_ins, message)
    return replace(reading, owed=tuple(owed), hushed=frozenset(hushed), barge_ins=barge_ins)


def closed_by(reading: Reading) -> Reading:
    """The answer in hand is owed whole; what is behind it may be cancelled. No context gets more text."""
    owed = tuple(
        replace(entry, is_open=False, is_cancelled=entry.is_cancelled or not entry.is_started) for entry in reading.owed
    )
    return replace(reading, owed=owed)


def _means(cancel: Cancel, name: str | None, is_context: bool) -> bool:
    if cancel.request_id is not None:
        return name is not None and cancel.request_id == name
    return cancel.context_id is None or (is_context and cancel.context_id == name)


def _is_text_of(text: str, entry: Entry) -> bool:
    """Of a context, as much as had come to the server."""
    return entry.text.startswith(text) if entry.is_context else entry.text == text
