"""Many sentences' audio as one stream: started once, chunks numbered through, ended once, with times on one clock.

`pcm` of all sentences is simply joined: every sentence is spoken with the same voice at the same rate, and frames hold
whole samples. `wav` is that with one header in front. Its sizes are 0xFFFFFFFF, "until the end", because nobody knows
them yet; players and ffmpeg take that, and a caller who wants true sizes asks for `pcm`.
"""

import dataclasses
import struct
from collections.abc import Iterator
from typing import Final

from speech_protocol import WordTime

from .events import AgentEvent, AudioChunk, AudioStreamEnd, AudioStreamStart, SentenceTimestamps
from .request import AnswerFormat
from .timeline import Timeline

BYTES_PER_SAMPLE: Final = 2  # 16-bit mono
_UNKNOWN_SIZE: Final = 0xFFFFFFFF


class AnswerAudio:
    """Tells what to say to the caller as a sentence starts, sounds and ends; keeps the timeline of it."""

    def __init__(self, audio_format: AnswerFormat, timeline: Timeline) -> None:
        self._format = audio_format
        self._timeline = timeline
        self._sample_rate_hz: int | None = None
        self._chunks = 0
        self._bytes = 0
        self._sentence_bytes = 0
        self._ended = False

    def started(self, sample_rate_hz: int) -> Iterator[AgentEvent]:
        """A sentence's audio begins, at this rate."""
        self._sentence_bytes = 0
        if self._sample_rate_hz is None:
            self._sample_rate_hz = sample_rate_hz
            yield AudioStreamStart(self._format, sample_rate_hz)
            if self._format == "wav":
                yield self._chunk(wav_header(sample_rate_hz))

    def heard(self, place: int, data: bytes) -> Iterator[AgentEvent]:
        """Audio of the sentence at `place` came."""
        self._timeline.heard(place)
        self._bytes += len(data)
        self._sentence_bytes += len(data)
        yield self._chunk(data)

    def words(self, place: int, words: tuple[WordTime, ...]) -> Iterator[AgentEvent]:
        """Word times of the sentence came, in seconds from its first sample."""
        shift_s = self._seconds(self._bytes - self._sentence_bytes)
        yield SentenceTimestamps(
            place,
            tuple(
                dataclasses.replace(
                    word, start_s=round(word.start_s + shift_s, 6), end_s=round(word.end_s + shift_s, 6)
                )
                for word in words
            ),
        )

    def done(self, place: int) -> None:
        """All audio of the sentence came."""
        self._timeline.done(place, self._seconds(self._sentence_bytes))
        self._sentence_bytes = 0

    def ended(self) -> Iterator[AgentEvent]:
        """No sentence follows. Says nothing where nothing was started, or twice."""
        if self._sample_rate_hz is not None and not self._ended:
            self._ended = True
            yield AudioStreamEnd(self._chunks, round(self._seconds(self._bytes), 6))

    def _chunk(self, data: bytes) -> AudioChunk:
        self._chunks += 1
        return AudioChunk(self._chunks - 1, data)

    def _seconds(self, audio_bytes: int) -> float:
        return audio_bytes / (BYTES_PER_SAMPLE * self._sample_rate_hz) if self._sample_rate_hz else 0.0


def wav_header(sample_rate_hz: int) -> bytes:
    """44 bytes of RIFF/WAVE for 16-bit mono PCM of unknown length (the layout of Microsoft's WAVEFORMAT, PCM)."""
    byte_rate = sample_rate_hz * BYTES_PER_SAMPLE
    audio = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, sample_rate_hz, byte_rate, BYTES_PER_SAMPLE, 16)
    return struct.pack("<4sI4s", b"RIFF", _UNKNOWN_SIZE, b"WAVE") + audio + struct.pack("<4sI", b"data", _UNKNOWN_SIZE)
