"""What a client says: one typed value a message, parsed from a text or a binary frame alike.

Parsing checks shape and range. Whether a voice exists, a format can be encoded or a timestamp is too old is the
server's to say: it raises the same `MessageError` with its own code.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from .errors import ErrorCode, MessageError
from .json_object import parse_object, parse_value

AudioFormat = Literal["pcm", "wav", "mp3", "opus", "aac"]
Latency = Literal["exact", "low"]

AUDIO_FORMATS: Final[tuple[AudioFormat, ...]] = get_args(AudioFormat)
SAMPLE_RATES_HZ: Final = (8000, 16000, 22050, 24000, 48000)
SPEED_RANGE: Final = (0.5, 2.0)
DEFAULT_VOICE: Final = "af_heart"
DEFAULT_SAMPLE_RATE_HZ: Final = 24000  # what the model makes; every other rate is resampled
MAX_ID_CHARS: Final = 128
MAX_VOICE_CHARS: Final = 256  # a blend of a dozen voices fits
MAX_LEXICON_WORDS: Final = 1000
MAX_LEXICON_CHARS: Final = 128  # of one word or its phonemes
DEFAULT_MAX_TEXT_CHARS: Final = 10_000  # about eleven minutes of speech


@dataclass(frozen=True, slots=True)
class VoiceOptions:
    """How to speak. `language` None means the voice's own, `latency` None the server's own; `speed` is a factor;
    `sample_rate` is in Hz."""

    voice: str = DEFAULT_VOICE
    speed: float = 1.0
    language: str | None = None
    format: AudioFormat = "pcm"
    sample_rate: int = DEFAULT_SAMPLE_RATE_HZ
    timestamps: bool = False
    latency: Latency | None = None
    lexicon: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Speak `text`. `request_timestamp`: when it was asked for, in seconds since the epoch, to drop stale work."""

    text: str
    options: VoiceOptions = VoiceOptions()
    request_id: str | None = None
    request_timestamp: float | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it is written; the server assembles sentences. `options` counts on a context's first message only.

    A context is answered as one request whose `request_id` is `context_id`. `flush`: this is the end of its text.
    `cut`: what has come is a whole piece, to be spoken without waiting for what follows.
    """

    context_id: str
    delta: str
    flush: bool = False
    options: VoiceOptions = VoiceOptions()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a request, a context, or everything. `played_s`: how much of the audio the listener has heard."""

    request_id: str | None = None
    context_id: str | None = None
    played_s: float | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """Ask what the server can do."""


@dataclass(frozen=True, slots=True)
class Ping:
    """Ask whether the session is alive; `id` comes back in the `pong`."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """End the session after what is owed has been sent."""


ClientMessage = Synthesize | Text | Cancel | Hello | Ping | Close


def parse_message(data: bytes | str, *, max_text_chars: int = DEFAULT_MAX_TEXT_CHARS) -> ClientMessage:
    """The message in one frame. Raises `MessageError` with what the client should be told; never anything else."""
    fields = parse_object(data)
    if fields is None:
        raise not_an_object(data, "a message")
    reader = FieldReader(fields)
    kind = fields.get("type", "synthesize" if "text" in fields else None)
    match kind:
        case "synthesize":
            return read_synthesize(reader, max_text_chars=max_text_chars)
        case "text":
            return _read_text(reader, max_text_chars)
        case "cancel":
            return Cancel(reader.identifier("request_id"), reader.identifier("context_id"), _played_s(reader))
        case "hello":
            return Hello()
        case "ping":
            return Ping(reader.identifier("id"))
        case "close":
            return Close()
        case None:
            raise reader.error('a message has a "type", or a "text" to speak; this one has neither')
        case str():
            names = ", ".join(_TYPES)
            raise reader.error(f"{_show(kind)} is not a message type; the types are {names}", ErrorCode.UNKNOWN_TYPE)
        case _:
            raise reader.error(f'"type" is a string; {_show(kind)} came')


def render_message(message: ClientMessage) -> str:
    """One text frame for `message`, without the fields that are at their default."""
    fields: dict[str, Any]
    match message:
        case Synthesize():
            fields = {"type": "synthesize", "text": message.text, "request_id": message.request_id}
            fields |= {"request_timestamp": message.request_timestamp} | _option_fields(message.options)
        case Text():
            fields = {"type": "text", "context_id": message.context_id, "delta": message.delta}
            fields |= {"flush": message.flush or None, "cut": message.cut or None} | _option_fields(message.options)
        case Cancel():
            fields = {"type": "cancel", "request_id": message.request_id, "context_id": message.context_id}
            fields |= {"played_s": message.played_s}
        case Hello():
            fields = {"type": "hello"}
        case Ping():
            fields = {"type": "ping", "id": message.id}
        case _:
            fields = {"type": "close"}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def read_synthesize(
    reader: "FieldReader",
    *,
    max_text_chars: int = DEFAULT_MAX_TEXT_CHARS,
    default_format: AudioFormat = "pcm",
) -> Synthesize:
    """The fields of `synthesize`, which WebSocket and HTTP share."""
    text = reader.string("text")
    if text is None:
        raise reader.error('"text" is missing')
    if not text.strip():
        raise reader.error("there is no text to speak", ErrorCode.TEXT_EMPTY)
    _check_length(reader, text, max_text_chars)
    return Synthesize(
        text=text,
        options=_read_options(reader, default_format),
        request_id=reader.identifier("request_id"),
        request_timestamp=reader.number("request_timestamp"),
    )


def not_an_object(data: bytes | str, what: str) -> MessageError:
    """The complaint, to be raised. Valid JSON of another kind is an invalid message; anything else is invalid JSON."""
    try:
        parse_value(data)
    except (ValueError, RecursionError):
        return MessageError(ErrorCode.INVALID_JSON, f"{what} is one JSON object in UTF-8; this is not JSON")
    return MessageError(ErrorCode.INVALID_MESSAGE, f"{what} is one JSON object; this is JSON of another kind")


class FieldReader:
    """Typed access to a message's fields; every complaint carries the message's `request_id`."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self._context_id = _usable_id(fields.get("context_id")) if fields.get("type") == "text" else None
        self._request_id = self._context_id or _usable_id(fields.get("request_id"))

    def error(self, message: str, code: ErrorCode = ErrorCode.INVALID_MESSAGE) -> MessageError:
        """The complaint `message` about this message, to be raised."""
        ends_context = self._context_id is not None and self._fields.get("flush") is True
        return MessageError(code, message, self._request_id, self._context_id, ends_context=ends_context)

    def string(self, name: str) -> str | None:
        """A string that can be written as UTF-8, or None where the field is absent or null."""
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(f'"{name}" is a string; {_show(value)} came')
        if not _is_encodable(value):
            raise self.error(f'"{name}" holds half of a surrogate pair; send whole Unicode characters')
        return value

    def identifier(self, name: str) -> str | None:
        """A name that the client chose, bounded because it comes back in every event."""
        value = self.string(name)
        if value is not None and not _is_identifier(value):
            raise self.error(f'"{name}" has 1 to {MAX_ID_CHARS} characters; {len(value)} came')
        return value

    def number(self, name: str) -> float | None:
        """A finite number, or None."""
        value = self._fields.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f'"{name}" is a number; {_show(value)} came')
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(f'"{name}" is a finite number')
        return number

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A JSON boolean."""
        value = self._fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(f'"{name}" is true or false; {_show(value)} came')
        return value

    def table(self, name: str) -> dict[str, str]:
        """A JSON object from strings to strings."""
        value = self._fields.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
            raise self.error(f'"{name}" is an object whose values are strings; {_show(value)} came')
        return value


_TYPES = ("synthesize", "text", "cancel", "hello", "ping", "close")


def _read_text(reader: FieldReader, max_text_chars: int) -> Text:
    context_id = reader.identifier("context_id")
    if context_id is None:
        raise reader.error('"context_id" is missing; it says which text the delta belongs to')
    delta = reader.string("delta") or ""
    _check_length(reader, delta, max_text_chars)
    return Text(context_id, delta, reader.flag("flush"), _read_options(reader, "pcm"), reader.flag("cut"))


def _read_options(reader: FieldReader, default_format: AudioFormat) -> VoiceOptions:
    voice = reader.string("voice")
    if voice is not None and not 0 < len(voice) <= MAX_VOICE_CHARS:
        raise reader.error(f'"voice" has 1 to {MAX_VOICE_CHARS} characters; {len(voice)} came', ErrorCode.VOICE_UNKNOWN)
    speed = reader.number("speed")
    low, high = SPEED_RANGE
    if speed is not None and not low <= speed <= high:
        raise reader.error(f'"speed" is from {low} to {high}; {speed:g} came', ErrorCode.SPEED_OUT_OF_RANGE)
    rate = reader.number("sample_rate")
    if rate is not None and rate not in SAMPLE_RATES_HZ:
        rates = ", ".join(str(known) for known in SAMPLE_RATES_HZ)
        raise reader.error(f'"sample_rate" is one of {rates} Hz; {rate:g} came', ErrorCode.SAMPLE_RATE_UNSUPPORTED)
    return VoiceOptions(
        voice=DEFAULT_VOICE if voice is None else voice,
        speed=1.0 if speed is None else speed,
        language=reader.identifier("language"),
        format=_read_format(reader, default_format),
        sample_rate=DEFAULT_SAMPLE_RATE_HZ if rate is None else int(rate),
        timestamps=reader.flag("timestamps"),
        latency=_read_latency(reader),
        lexicon=_read_lexicon(reader),
    )


def _read_format(reader: FieldReader, default: AudioFormat) -> AudioFormat:
    name = reader.string("format")
    if name is None:
        return default
    for known in AUDIO_FORMATS:
        if name == known:
            return known
    formats = ", ".join(AUDIO_FORMATS)
    raise reader.error(f'"format" is one of {formats}; {_show(name)} came', ErrorCode.FORMAT_UNSUPPORTED)


def _read_latency(reader: FieldReader) -> Latency | None:
    match reader.string("latency"):
        case None | "exact" | "low" as latency:
            return latency
        case other:
            raise reader.error(f'"latency" is "exact" or "low"; {_show(other)} came')


def _read_lexicon(reader: FieldReader) -> dict[str, str]:
    lexicon = reader.table("lexicon")
    if len(lexicon) > MAX_LEXICON_WORDS:
        raise reader.error(f'"lexicon" has at most {MAX_LEXICON_WORDS} words; {len(lexicon)} came')
    for word, phonemes in lexicon.items():
        if not (_is_encodable(word) and _is_encodable(phonemes)):
            raise reader.error('"lexicon" holds half of a surrogate pair; send whole Unicode characters')
        if not 0 < len(word) <= MAX_LEXICON_CHARS or len(phonemes) > MAX_LEXICON_CHARS:
            raise reader.error(f'a word of "lexicon" and its phonemes have at most {MAX_LEXICON_CHARS} characters')
    return lexicon


def _played_s(reader: FieldReader) -> float | None:
    played_s = reader.number("played_s")
    if played_s is not None and played_s < 0:
        raise reader.error(f'"played_s" is a number of seconds from 0; {played_s:g} came')
    return played_s


def _check_length(reader: FieldReader, text: str, max_chars: int) -> None:
    if len(text) > max_chars:
        raise reader.error(f"a text has at most {max_chars} characters; {len(text)} came", ErrorCode.TEXT_TOO_LONG)


def _option_fields(options: VoiceOptions) -> dict[str, Any]:
    default = VoiceOptions()
    values = {
        "voice": options.voice,
        "speed": options.speed,
        "language": options.language,
        "format": options.format,
        "sample_rate": options.sample_rate,
        "timestamps": options.timestamps,
        "latency": options.latency,
        "lexicon": dict(options.lexicon),
    }
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _usable_id(value: Any) -> str | None:
    """A message's id, where it has one that may come back in an event."""
    return value if isinstance(value, str) and _is_identifier(value) else None


def _is_identifier(value: str) -> bool:
    return 0 < len(value) <= MAX_ID_CHARS and _is_encodable(value)


def _is_encodable(value: str) -> bool:
    """False for lone surrogates, which JSON can spell and UTF-8 cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _show(value: Any) -> str:
    """A short, safe rendering of what came, for an error message. The client's own data only."""
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
