"""The words of an HTTP face: how a request's body is read, and what errors and events look like.

`Exchange` does the same for both faces; a `Dialect` is where they differ.
"""

from dataclasses import asdict
from typing import Any, Protocol

from speech_protocol import ErrorEvent, Invocation, SynthesisStart, parse_invocation

from .account import Face
from .narration import Script
from .openai_voices import in_kokoros_voice

Fields = dict[str, Any]


class Dialect(Protocol):
    """Values in, JSON objects out; nothing is kept between requests."""

    @property
    def face(self) -> Face:
        """What the metrics call it."""

    def parse(self, body: bytes, max_text_chars: int) -> Invocation:
        """The request in a body. Raises `speech_protocol.MessageError`."""

    def error(self, event: ErrorEvent) -> Fields:
        """The body of an answer that is an error."""

    def started(self, start: SynthesisStart) -> Fields | None:
        """The event before the first audio, if there is one."""

    def chunk(self, seq: int, data: str) -> Fields:
        """The event with one piece of audio; `data` is base64, `seq` counts from 0."""

    def finished(self, script: Script, chunks: int, duration_s: float) -> Fields:
        """The event after the last audio."""

    def failed(self, event: ErrorEvent) -> Fields:
        """The event in place of the rest."""


class InvocationsDialect:
    """`POST /invocations` as DESIGN 3.2 has it."""

    face: Face = "invocations"

    def parse(self, body: bytes, max_text_chars: int) -> Invocation:
        """See `Dialect`."""
        return in_kokoros_voice(parse_invocation(body, max_text_chars=max_text_chars))

    def error(self, event: ErrorEvent) -> Fields:
        """See `Dialect`."""
        return {"error": {"code": event.code, "message": event.message, "request_id": event.request_id}}

    def started(self, start: SynthesisStart) -> Fields | None:
        """See `Dialect`."""
        return {**asdict(start), "type": "audio_stream_start"}

    def chunk(self, seq: int, data: str) -> Fields:
        """See `Dialect`."""
        return {"type": "audio_chunk", "seq": seq, "data": data}

    def finished(self, script: Script, chunks: int, duration_s: float) -> Fields:
        """See `Dialect`."""
        return {"type": "audio_stream_end", "total_chunks": chunks, "duration_s": round(duration_s, 6)}

    def failed(self, event: ErrorEvent) -> Fields:
        """See `Dialect`."""
        return {"type": "error", "request_id": event.request_id, "code": event.code, "message": event.message}
