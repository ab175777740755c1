"""The body of POST /invocations: the fields of `synthesize`, how to deliver, or the OpenAI speech body.

OpenAI's names (`input`, `response_format`, `model`) are understood beside ours; where a body has both, ours win.
"""

from dataclasses import dataclass
from typing import Final, Literal

from .json_object import parse_object
from .messages import DEFAULT_MAX_TEXT_CHARS, AudioFormat, FieldReader, Synthesize, not_an_object, read_synthesize

Transport = Literal["binary", "sse"]
_OPENAI_NAMES: Final = {"input": "text", "response_format": "format"}


@dataclass(frozen=True, slots=True)
class Invocation:
    """One HTTP request. `stream`: answer in chunks as audio is made; `transport`: raw bytes or server-sent events."""

    synthesize: Synthesize
    stream: bool = True
    transport: Transport = "binary"


def parse_invocation(
    body: bytes,
    *,
    max_text_chars: int = DEFAULT_MAX_TEXT_CHARS,
    default_format: AudioFormat = "wav",
) -> Invocation:
    """Raises `MessageError` with what the caller should be told; never anything else."""
    fields = parse_object(body)
    if fields is None:
        raise not_an_object(body, "the body")
    ours = {_OPENAI_NAMES.get(name, name): value for name, value in fields.items()} | fields
    reader = FieldReader(ours)
    return Invocation(
        synthesize=read_synthesize(reader, max_text_chars=max_text_chars, default_format=default_format),
        stream=reader.flag("stream", default=True),
        transport=_read_transport(reader),
    )


def _read_transport(reader: FieldReader) -> Transport:
    match reader.string("transport"):
        case None | "binary":
            return "binary"
        case "sse":
            return "sse"
        case other:
            raise reader.error(f'"transport" is "binary" or "sse"; {ascii(other)[:40]} came')
