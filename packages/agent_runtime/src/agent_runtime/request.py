"""What a caller may ask for: `prompt`, `mode`, `voice`, `speed`, `format`, and on a WebSocket to stop. Nothing else.

A payload is written by whoever can reach the agent. Which endpoint, region or role is used comes from the environment
alone; fields of such names, like any other that is not listed here, are not even looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from speech_protocol import (
    AUDIO_FORMATS,
    DEFAULT_VOICE,
    SPEED_RANGE,
    AudioFormat,
    ErrorCode,
    MessageError,
    VoiceOptions,
)
from speech_protocol.json_object import parse_object
from speech_protocol.messages import MAX_VOICE_CHARS, FieldReader

from .errors import AgentErrorCode, RequestError

Mode = Literal["bidi", "batch"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
DEFAULT_MAX_PROMPT_CHARS: Final = 10_000


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One turn."""

    prompt: str
    mode: Mode = "bidi"
    voice: str = DEFAULT_VOICE
    speed: float = 1.0
    format: AudioFormat = "pcm"

    @property
    def voice_options(self) -> VoiceOptions:
        """How the speech server is asked to speak. `wav` is its `pcm` behind a header of ours (see `answer_audio`).

        Word times are always asked for: captions, interruptions and lost sessions need them.
        """
        spoken = "pcm" if self.format == "wav" else self.format
        return VoiceOptions(voice=self.voice, speed=self.speed, format=spoken, timestamps=True)


@dataclass(frozen=True, slots=True)
class Interruption:
    """Stop the answer, of which the listener has heard `played_s`. `request_id`: only if it is this one."""

    played_s: float | None = None
    request_id: str | None = None


def parse_message(data: str | bytes, max_prompt_chars: int = DEFAULT_MAX_PROMPT_CHARS) -> "AgentRequest | Interruption":
    """One message of a WebSocket caller, from a text or a binary frame alike. Raises `RequestError` like
    `parse_request`.
    """
    fields = parse_object(data)
    if fields is None:
        raise RequestError(AgentErrorCode.INVALID_JSON, "a message is one JSON object in UTF-8")
    match fields.get("type", "prompt" if "prompt" in fields else None):
        case "prompt":
            return parse_request(fields, max_prompt_chars)
        case "cancel":
            return _read(fields, _read_interruption)
        case None:
            message = 'a message has a "type", or a "prompt" to answer; this one has neither'
            raise RequestError(AgentErrorCode.INVALID_REQUEST, message)
        case kind:
            message = f"the message types are prompt and cancel; {ascii(kind)[:40]} came"
            raise RequestError(AgentErrorCode.UNKNOWN_TYPE, message)


def parse_request(payload: object, max_prompt_chars: int = DEFAULT_MAX_PROMPT_CHARS) -> AgentRequest:
    """Raises `RequestError` with what the caller should be told; never anything else."""
    if not isinstance(payload, Mapping):
        raise RequestError(AgentErrorCode.INVALID_REQUEST, 'the payload is one JSON object with a "prompt"')
    return _read(payload, lambda reader: _read_request(reader, max_prompt_chars))


def _read[Message](fields: Mapping[str, Any], read: Callable[[FieldReader], Message]) -> Message:
    try:
        return read(FieldReader(fields))
    except MessageError as error:
        code = AgentErrorCode.INVALID_REQUEST if error.code is ErrorCode.INVALID_MESSAGE else error.code
        raise RequestError(code, error.message) from error


def _read_interruption(reader: FieldReader) -> Interruption:
    played_s = reader.number("played_s")
    if played_s is not None and played_s < 0:
        raise reader.error(f'"played_s" is a number of seconds from 0; {played_s:g} came')
    return Interruption(played_s, reader.identifier("request_id"))


def _read_request(reader: FieldReader, max_prompt_chars: int) -> AgentRequest:
    return AgentRequest(
        prompt=_prompt(reader, max_prompt_chars),
        mode=_choice(reader, "mode", MODES, AgentErrorCode.MODE_UNKNOWN),
        voice=_voice(reader),
        speed=_speed(reader),
        format=_choice(reader, "format", AUDIO_FORMATS, AgentErrorCode.FORMAT_UNSUPPORTED),
    )


def _prompt(reader: FieldReader, max_chars: int) -> str:
    prompt = reader.string("prompt")
    if prompt is None:
        raise RequestError(AgentErrorCode.INVALID_REQUEST, '"prompt" is missing; it is the question to answer')
    if not prompt.strip():
        raise RequestError(AgentErrorCode.PROMPT_EMPTY, '"prompt" holds no text')
    if len(prompt) > max_chars:
        message = f'"prompt" has at most {max_chars} characters; {len(prompt)} came'
        raise RequestError(AgentErrorCode.PROMPT_TOO_LONG, message)
    return prompt


def _voice(reader: FieldReader) -> str:
    voice = reader.string("voice")
    if voice is None:
        return DEFAULT_VOICE
    if not 0 < len(voice) <= MAX_VOICE_CHARS:
        raise reader.error(f'"voice" has 1 to {MAX_VOICE_CHARS} characters; {len(voice)} came', ErrorCode.VOICE_UNKNOWN)
    return voice


def _speed(reader: FieldReader) -> float:
    speed = reader.number("speed")
    low, high = SPEED_RANGE
    if speed is None:
        return 1.0
    if not low <= speed <= high:
        raise reader.error(f'"speed" is from {low} to {high}; {speed:g} came', ErrorCode.SPEED_OUT_OF_RANGE)
    return speed


def _choice[Name: str](reader: FieldReader, field: str, names: tuple[Name, ...], code: AgentErrorCode) -> Name:
    """One of `names`; the first where the field is absent."""
    value = reader.string(field)
    if value is None:
        return names[0]
    for name in names:
        if value == name:
            return name
    raise RequestError(code, f'"{field}" is one of {", ".join(names)}; {ascii(value)[:40]} came')


def describe(request: AgentRequest) -> dict[str, Any]:
    """What of a request may be logged: lengths and choices, never its text."""
    return {
        "mode": request.mode,
        "voice": request.voice,
        "speed": request.speed,
        "format": request.format,
        "prompt_chars": len(request.prompt),
    }
