"""What the agent says to its caller: typed events, rendered for SSE and for WebSocket frames.

The order is a promise. A stream begins with `agent_start` (or is a single `error` where the request was refused). Audio
of the whole answer is one stream: `audio_stream_start`, chunks, `audio_stream_end`, around all sentences; only an
encoded one that was broken off has a second one after it. The last event is `agent_end` where the answer's text is
complete, also if speech failed on the way (then an `error` came earlier), `agent_cancelled` where the caller
interrupted it, and `error` where the text is not complete.
"""

import base64
import dataclasses
import json
from dataclasses import dataclass, field
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
    """Audio follows, one stream of its `format`; rate in Hz.

    `pcm` is 16-bit little-endian mono, `wav` the same after one header, `mp3` a plain stream, `opus` in Ogg, `aac` in
    fragmented MP4.
    """

    type: ClassVar[str] = "audio_stream_start"
    format: str
    sample_rate: int


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A piece of the answer's audio, for `pcm` whole samples. `seq` counts from 0 through the answer.

    `end_s`: where it ends on the answer's clock, for whoever delivers it; the caller counts for himself.
    """

    type: ClassVar[str] = "audio_chunk"
    seq: int
    data: bytes
    end_s: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class SentenceTimestamps:
    """Word times of one sentence, sent before its audio, in seconds on the clock of the answer's audio.

    Char offsets are into the answer's text, as all `text_delta`s give it. `sentence` is its place in
    `AgentEnd.sentences`.
    """

    type: ClassVar[str] = "timestamps"
    sentence: int
    words: tuple[WordTime, ...]


@dataclass(frozen=True, slots=True)
class AudioStreamEnd:
    """No audio follows in this stream. `duration_s` is what its chunks play for."""

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
class AgentCancelled:
    """The caller interrupted the answer. `text_spoken` + `text_remaining` is its text as far as it was written.

    The cut is after the last word that was heard whole by `played_s`: as the caller said, else as is to be expected
    from when the audio was sent. `text_spoken` is what the agent remembers of its answer.
    """

    type: ClassVar[str] = "agent_cancelled"
    request_id: str
    text_spoken: str
    text_remaining: str
    played_s: float


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
    | AgentCancelled
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
    """The event as WebSocket frames: audio as binary frames of whole samples, anything else as one text frame.

    An event about a very long answer is shortened until it fits: `agent_end` by its last sentences, `agent_cancelled`
    by the text that is furthest from its cut.
    """
    if isinstance(event, AudioChunk):
        step = max_frame_bytes - max_frame_bytes % 2
        return [event.data[at : at + step] for at in range(0, len(event.data), step)]
    frame = json.dumps(event_fields(event))  # ASCII: as many bytes as characters
    while len(frame) > max_frame_bytes and (shorter := _shortened(event)) is not None:
        event = shorter
        frame = json.dumps(event_fields(event))
    return [frame]


def _shortened(event: AgentEvent) -> AgentEvent | None:
    """Something less of what grows with the answer, or None where there is nothing of that kind left."""
    match event:
        case AgentEnd(sentences=sentences) if sentences:
            return dataclasses.replace(event, sentences=sentences[: len(sentences) * 7 // 8])
        case AgentCancelled(text_spoken=spoken, text_remaining=remaining) if spoken or remaining:
            kept = max(len(spoken), len(remaining)) * 7 // 8
            return dataclasses.replace(
                event, text_spoken=spoken[max(0, len(spoken) - kept) :], text_remaining=remaining[:kept]
            )
        case _:
            return None
