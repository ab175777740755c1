"""`POST /v1/audio/speech` as OpenAI's clients speak it, so that they need a base URL and nothing else.

Written against https://platform.openai.com/docs/api-reference/audio/createSpeech and tested with the `openai` package.
Voices are OpenAI's (`openai_voices` has what stands for them) or Kokoro's. What Kokoro cannot do is refused by name
(flac, speeds beyond 0.5 to 2.0), but for two fields that only choose how to speak: any `model` is the one that is
here, and `instructions` are not followed.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from speech_protocol import (
    AUDIO_FORMATS,
    AudioFormat,
    ErrorCode,
    ErrorEvent,
    Invocation,
    MessageError,
    SynthesisStart,
    Transport,
    parse_invocation,
)

from .account import Face
from .dialect import Fields
from .encoders import offered_formats
from .engine import FRAME_SAMPLES, SAMPLE_RATE_HZ
from .narration import Script
from .openai_voices import in_kokoros_voice

_PARAMETERS: Final = {
    ErrorCode.TEXT_EMPTY: "input",
    ErrorCode.TEXT_TOO_LONG: "input",
    ErrorCode.VOICE_UNKNOWN: "voice",
    ErrorCode.SPEED_OUT_OF_RANGE: "speed",
    ErrorCode.FORMAT_UNSUPPORTED: "response_format",
    ErrorCode.SAMPLE_RATE_UNSUPPORTED: "sample_rate",
    ErrorCode.LANGUAGE_UNSUPPORTED: "language",
}
_OURS: Final = ("speed", "language", "sample_rate", "latency", "lexicon", "request_id", "request_timestamp")


class OpenAiDialect:
    """See the module. Fields of ours (`language`, `sample_rate`, `latency`, `lexicon` ...) are understood besides."""

    face: Face = "openai"

    def parse(self, body: bytes, max_text_chars: int) -> Invocation:
        """See `Dialect`."""
        fields = _object(body)
        ours: Fields = {name: fields[name] for name in _OURS if name in fields}
        ours |= {
            "text": _input(fields),
            "voice": _voice(fields),
            "format": _format(fields),
            "transport": _transport(fields),
        }
        return in_kokoros_voice(parse_invocation(json.dumps(ours).encode(), max_text_chars=max_text_chars))

    def error(self, event: ErrorEvent) -> Fields:
        """See `Dialect`."""
        code = ErrorCode(event.code)
        kinds = {429: "rate_limit_error"} | dict.fromkeys((500, 503), "server_error")
        return {
            "error": {
                "message": event.message,
                "type": kinds.get(code.http_status, "invalid_request_error"),
                "param": _PARAMETERS.get(code),
                "code": event.code,
            }
        }

    def started(self, start: SynthesisStart) -> Fields | None:
        """Nothing: the first event has audio."""
        return None

    def chunk(self, seq: int, data: str) -> Fields:
        """See `Dialect`."""
        return {"type": "speech.audio.delta", "audio": data}

    def finished(self, script: Script, chunks: int, duration_s: float) -> Fields:
        """See `Dialect`. What Kokoro has for tokens: phonemes in, frames of 25 ms out."""
        phonemes = sum(len(line.utterance.token_ids) for line in script.lines)
        frames = round(duration_s * SAMPLE_RATE_HZ / FRAME_SAMPLES)
        usage = {"input_tokens": phonemes, "output_tokens": frames, "total_tokens": phonemes + frames}
        return {"type": "speech.audio.done", "usage": usage}

    def failed(self, event: ErrorEvent) -> Fields:
        """See `Dialect`. OpenAI's client raises for an event with an `error`."""
        return {"type": "error", **self.error(event)}


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise MessageError(ErrorCode.INVALID_JSON, "the body is one JSON object in UTF-8; this is not JSON") from None
    if not isinstance(fields, dict):
        raise MessageError(ErrorCode.INVALID_JSON, "the body is one JSON object; this is JSON of another kind")
    return fields


def _input(fields: Mapping[str, Any]) -> str:
    text = _string(fields, "input")
    if text is None:
        raise _invalid('"input" is missing; it is the text to speak')
    return text


def _voice(fields: Mapping[str, Any]) -> str:
    """A name, or OpenAI's reference to a custom voice, whose id may be any voice here."""
    voice = fields.get("voice")
    if isinstance(voice, dict):
        voice = voice.get("id")
    if voice is None:
        raise _invalid('"voice" is missing; GET /v1/audio/voices lists them')
    if not isinstance(voice, str):
        raise _invalid('"voice" is a string, or an object with an "id"')
    return voice


def _format(fields: Mapping[str, Any]) -> AudioFormat:
    """mp3 unless the request says otherwise, as OpenAI has it; wav where this server makes no mp3."""
    name = _string(fields, "response_format")
    if name is None:
        return "mp3" if "mp3" in offered_formats() else "wav"
    for known in AUDIO_FORMATS:
        if name == known:
            return known
    formats = ", ".join(offered_formats())
    raise MessageError(ErrorCode.FORMAT_UNSUPPORTED, f'"response_format" is one of {formats}; {ascii(name)[:40]} came')


def _transport(fields: Mapping[str, Any]) -> Transport:
    match _string(fields, "stream_format"):
        case None | "audio":
            return "binary"
        case "sse":
            return "sse"
        case other:
            raise _invalid(f'"stream_format" is "audio" or "sse"; {ascii(other)[:40]} came')


def _string(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise _invalid(f'"{name}" is a string; {ascii(value)[:40]} came')
    return value


def _invalid(message: str) -> MessageError:
    return MessageError(ErrorCode.INVALID_MESSAGE, message)
