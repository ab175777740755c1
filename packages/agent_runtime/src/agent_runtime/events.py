"""What the agent says to its caller: typed events, rendered for SSE and for WebSocket frames.

The order is a promise. A stream begins with `agent_start` (or is a single `error` where the request was refused). Audio
of the whole answer is one stream: `audio_stream_start`, chunks, `audio_stream_end`, each at most once around all
sentences. The last event is `agent_end` where the answer's text is complete, also if speech failed on the way (then an
`error` came earlier), and `error` where the text is not.
"""

import base64
import dataclasses
import json
from dataclasses import dataclass
from typing import Any, ClassVar

from speech_protocol import WordTime, encode_sse

MAX_WEBSOCKET_FRAME_BYTES = 32 * 1024  # AgentCore Runtime closes a socket over a larger frame


@dataclass(frozen=True, slots=True)
class AgentStart:
    """The request is understood and work has begun. `request_id` is what the service's log calls it."""

    type: ClassVar[str] = "agent_start"
    request_id: str
    mode: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text as the model writes it; the deltas in order of `seq` (from 0) are the answer."""

    type: ClassVar[str] = "text_delta"
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class AudioStreamStart:
    """Audio follows. `format`: `pcm` is 16-bit little-endian mono, `wav` the same after one header; rate in Hz."""

    type: ClassVar[str] = "audio_stream_start"
    format: str
    sample_rate: int


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A piece of the answer's audio; always whole samples. `seq` counts from 0 through all sentences."""

    type: ClassVar[str] = "audio_chunk"
    seq: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SentenceTimestamps:
    """Word times of one sentence in seconds of the answer's own clock; char offsets are into that sentence's text.

    `sentence` is its place in `AgentEnd.sentences`.
    """

    type: ClassVar[str] = "timestamps"
    sentence: int
    words: tuple[WordTime, ...]


@dataclass(frozen=True, slots=True)
class AudioStreamEnd:
    """No audio follows. `duration_s` is what all chunks play for."""

    type: ClassVar[str] = "audio_stream_end"
    total_chunks: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class SentenceTimes:
    """One piece of text as it was handed to the voice, and when things happened to it, in ms since `agent_start`.

    `written_ms`: its last character came from the model. `sent_ms`: handed to the speech session. `heard_ms`: its first
    audio came back. `done_ms`: its last did. None where that never happened. `audio_s`: how long it plays.
    """

    text: str
    written_ms: float
    sent_ms: float | None = None
    heard_ms: float | None = None
    done_ms: float | None = None
    audio_s: float = 0.0


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The answer's text is complete. Times in ms since `agent_start`; None where there was no text, or no audio."""

    type: ClassVar[str] = "agent_end"
    ttft_ms: float | None
    ttfa_ms: float | None
    total_ms: float
    sentences: tuple[SentenceTimes, ...]


@dataclass(frozen=True, slots=True)
class AgentErrorEvent:
    """Something failed. `code` is stable, `message` a plain sentence; neither quotes a library or another caller."""

    type: ClassVar[str] = "error"
    code: str
    message: str


AgentEvent = (
    AgentStart
    | TextDelta
    | AudioStreamStart
    | AudioChunk
    | SentenceTimestamps
    | AudioStreamEnd
    | AgentEnd
    | AgentErrorEvent
)


def event_fields(event: AgentEvent) -> dict[str, Any]:
    """The event as a JSON object; audio is base64 in `data`."""
    if isinstance(event, AudioChunk):
        return {"type": event.type, "seq": event.seq, "data": base64.b64encode(event.data).decode("ascii")}
    return {"type": event.type} | dataclasses.asdict(event)


def render_sse(event: AgentEvent) -> bytes:
    """One server-sent event."""
    return encode_sse(event_fields(event))


def render_frames(event: AgentEvent, max_frame_bytes: int = MAX_WEBSOCKET_FRAME_BYTES) -> list[str | bytes]:
    """The event as WebSocket frames: audio as binary frames of whole samples, anything else as one text frame."""
    if not isinstance(event, AudioChunk):
        return [json.dumps(event_fields(event))]
    step = max_frame_bytes - max_frame_bytes % 2
    return [event.data[at : at + step] for at in range(0, len(event.data), step)]
