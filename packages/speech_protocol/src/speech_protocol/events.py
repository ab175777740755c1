"""What a server says: control events as typed values, rendered to text frames and read back.

A reader meets servers newer than itself: fields that it does not know are ignored, and a type that it does not know is
an `UnknownEvent`, to be passed over.
"""

import dataclasses
import json
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from .errors import ErrorCode, EventError
from .frames import Audio, Control, Frame

PROTOCOL_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class SynthesisStart:
    """The audio that follows belongs to `request_id`."""

    type: ClassVar[str] = "synthesis_start"
    request_id: str
    format: str
    sample_rate: int
    voice: str


@dataclass(frozen=True, slots=True)
class WordTime:
    """When a word sounds, in seconds from the request's first sample, and where it stands in the text as sent."""

    word: str
    start_s: float
    end_s: float
    start_char: int
    end_char: int


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Word times for audio that has been or is about to be sent."""

    type: ClassVar[str] = "timestamps"
    request_id: str
    words: tuple[WordTime, ...]


@dataclass(frozen=True, slots=True)
class SynthesisComplete:
    """All audio of the request has been sent. `elapsed_s` counts from its arrival, `queue_s` until work on it began."""

    type: ClassVar[str] = "synthesis_complete"
    request_id: str
    total_duration_s: float
    elapsed_s: float
    queue_s: float
    first_audio_s: float
    audio_bytes: int


@dataclass(frozen=True, slots=True)
class SynthesisCancelled:
    """No audio of the request follows. `text_spoken + text_remaining` is its text, or what has come of a context's.

    `text_spoken` ends with the last word that was heard whole: by `played_s` where the cancel had it, else by what was
    sent. `audio_s`: how much audio was sent, in seconds.
    """

    type: ClassVar[str] = "synthesis_cancelled"
    request_id: str
    text_spoken: str
    text_remaining: str
    audio_s: float


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """A request, or a message that named none, could not be served. The session goes on."""

    type: ClassVar[str] = "error"
    request_id: str | None
    code: str
    message: str
    retryable: bool = False
    retry_after_s: float | None = None

    @classmethod
    def of(
        cls,
        code: ErrorCode,
        message: str,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> "ErrorEvent":
        """The event for one of the contract's codes."""
        return cls(request_id, code.value, message, code.retryable, retry_after_s)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The answer to `hello`. `limits` names the server's bounds; units are in the names."""

    type: ClassVar[str] = "capabilities"
    protocol_version: str
    engine: str
    voices: tuple[str, ...]
    languages: tuple[str, ...]
    formats: tuple[str, ...]
    sample_rates: tuple[int, ...]
    timestamps: bool
    latency: tuple[str, ...]
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer to `ping`."""

    type: ClassVar[str] = "pong"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The answer to `close`: nothing more follows."""

    type: ClassVar[str] = "session_closed"


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """A control frame of a type that this version does not know."""

    type: str
    fields: Mapping[str, Any]


KnownEvent = (
    SynthesisStart
    | Timestamps
    | SynthesisComplete
    | SynthesisCancelled
    | ErrorEvent
    | Capabilities
    | Pong
    | SessionClosed
)
ServerEvent = KnownEvent | UnknownEvent

_CLASSES: dict[str, type[Any]] = {cls.type: cls for cls in get_args(KnownEvent)}
# Looking them up takes 40 µs, and every sentence brings a dozen words.
_HINTS = {cls: get_type_hints(cls) for cls in (WordTime, *_CLASSES.values())}


def render_event(event: KnownEvent) -> str:
    """One text frame. Fields that are None are left out, but for an error's `request_id`, which is null."""
    fields = {"type": event.type} | dataclasses.asdict(event)
    kept = {name: value for name, value in fields.items() if value is not None}
    if isinstance(event, ErrorEvent):
        kept.setdefault("request_id", None)
    return json.dumps(kept)


def parse_event(fields: Mapping[str, Any]) -> ServerEvent:
    """The event in a control frame's JSON object. Raises `EventError` where a known type's field is wrong."""
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise EventError(f'a control frame has a string "type"; fields {sorted(fields)} came')
    cls = _CLASSES.get(kind)
    if cls is None:
        return UnknownEvent(kind, fields)
    event: ServerEvent = _build(cls, fields, kind)
    return event


def read_frame(frame: Frame) -> ServerEvent | Audio:
    """What a server's frame means to a client. Raises `EventError` for a text frame without a JSON object."""
    match frame:
        case Audio():
            return frame
        case Control():
            return parse_event(frame.fields)
        case _:
            raise EventError(f"a text frame of {len(frame.data)} bytes holds no JSON object")


def _build(cls: type[Any], fields: Mapping[str, Any], where: str) -> Any:
    values = {}
    hints = _HINTS[cls]
    for field in dataclasses.fields(cls):
        if fields.get(field.name) is not None:
            values[field.name] = _convert(fields[field.name], hints[field.name], f"{where}.{field.name}")
        elif _is_optional(hints[field.name]):
            values[field.name] = None
        elif field.default is dataclasses.MISSING:
            raise EventError(f"{where} lacks {field.name}")
    return cls(**values)


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _convert(value: Any, hint: Any, where: str) -> Any:
    """`value` as the annotated type: the handful of kinds that the events above use."""
    if _is_optional(hint):
        (hint,) = (kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is tuple:
        return tuple(_convert(entry, get_args(hint)[0], where) for entry in _expect(value, list, where))
    if get_origin(hint) is Mapping:
        return {name: _convert(entry, float, where) for name, entry in _expect(value, dict, where).items()}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _build(hint, _expect(value, dict, where), where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, bool):
        raise EventError(f"{where} is a number; a boolean came")
    return _expect(value, hint, where)


def _expect(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise EventError(f"{where} is of type {kind.__name__}; {type(value).__name__} came")
    return value
