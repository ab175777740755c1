"""One answer of the agent as its caller sees it: text, audio, and when each part came.

Times are the caller's, in milliseconds from the moment the question was sent; the sentences' times are the agent's own,
from the moment it began, and are shown as they are reported.
"""

import base64
import binascii
import wave
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from local_cloud.errors import AnswerFailed

SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class SentenceTimes:
    """When a sentence was complete in the model's text, handed to the speech server, first heard, and fully heard."""

    text: str
    written_ms: float
    sent_ms: float | None = None
    heard_ms: float | None = None
    done_ms: float | None = None
    audio_s: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. A time is None where nothing came.

    `audio`: all of it, in `format`; `pcm` is 16-bit little-endian mono at `sample_rate_hz`. `duration_s`: what it plays
    for, as the agent counts it. `spoken`: of an answer that was cancelled, the text that was heard of it.
    """

    mode: str
    text: str
    format: str
    audio: bytes
    duration_s: float
    sample_rate_hz: int
    first_text_ms: float | None
    first_audio_ms: float | None
    total_ms: float
    sentences: tuple[SentenceTimes, ...]
    spoken: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Everything but the audio, of which only the duration."""
        fields = asdict(self)
        del fields["audio"]
        return fields

    def write_wav(self, path: Path) -> None:
        """The audio as a WAV file with true sizes. Raises `AnswerFailed` where it is not `pcm`."""
        if self.format != "pcm":
            raise AnswerFailed(f"expected samples to write into a WAV file, got {self.format}; ask for pcm")
        write_wav(path, self.audio, self.sample_rate_hz)


def write_wav(path: Path, pcm: bytes, sample_rate_hz: int) -> None:
    """16-bit little-endian mono samples as a WAV file; missing directories are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, wave.open(raw, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(SAMPLE_BYTES)
        file.setframerate(sample_rate_hz)
        file.writeframes(pcm)


@dataclass(slots=True)
class AnswerCollector:
    """Takes the agent's events one by one, with the moment each came, and gives the answer at their end."""

    mode: str
    _text: list[str] = field(default_factory=list)
    _audio: list[bytes] = field(default_factory=list)
    _format: str = "pcm"
    _sample_rate_hz: int = 24_000
    _duration_s: float = 0.0
    _first_text_ms: float | None = None
    _first_audio_ms: float | None = None
    _end: Mapping[str, Any] | None = None
    _last_ms: float = 0.0

    def feed(self, event: Mapping[str, Any], at_ms: float) -> None:
        """Raises `AnswerFailed` for the agent's `error` event and for audio that is not base64."""
        self._last_ms = at_ms
        match event.get("type"):
            case "text_delta":
                self._text.append(str(event["text"]))
                self._first_text_ms = at_ms if self._first_text_ms is None else self._first_text_ms
            case "audio_stream_start":
                self._format = str(event["format"])
                self._sample_rate_hz = int(event["sample_rate"])
            case "audio_chunk":
                self.feed_audio(_decode(event["data"]), at_ms)
            case "audio_stream_end":
                self._duration_s += float(event["duration_s"])
            case "agent_end" | "agent_cancelled":
                self._end = event
            case "error":
                raise AnswerFailed(f"the agent answered with {event.get('code')}: {event.get('message')}")

    def feed_audio(self, audio: bytes, at_ms: float) -> None:
        """Audio as it comes on a WebSocket, bare."""
        self._last_ms = at_ms
        self._audio.append(audio)
        self._first_audio_ms = at_ms if self._first_audio_ms is None else self._first_audio_ms

    def answer(self) -> Answer:
        """Raises `AnswerFailed` where the stream ended before the agent did."""
        if self._end is None:
            raise AnswerFailed("the agent's stream ended before its agent_end event; see the agent's log")
        return Answer(
            mode=self.mode,
            text="".join(self._text),
            format=self._format,
            audio=b"".join(self._audio),
            duration_s=self._duration_s,
            sample_rate_hz=self._sample_rate_hz,
            first_text_ms=self._first_text_ms,
            first_audio_ms=self._first_audio_ms,
            total_ms=self._last_ms,
            sentences=tuple(_sentence(entry) for entry in self._end.get("sentences", ())),
            spoken=self._end.get("text_spoken"),
        )


def _sentence(entry: Mapping[str, Any]) -> SentenceTimes:
    return SentenceTimes(
        text=str(entry["text"]),
        written_ms=float(entry["written_ms"]),
        sent_ms=entry.get("sent_ms"),
        heard_ms=entry.get("heard_ms"),
        done_ms=entry.get("done_ms"),
        audio_s=entry.get("audio_s"),
    )


def _decode(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise AnswerFailed("an audio chunk of the agent is not base64") from error
