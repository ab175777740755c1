"""An answer's audio as its caller gets it: started once, chunks numbered through, ended once, with times on one clock.

Every answer is one context of the speech server with one encoder, so its audio is one stream of its format and is
passed on as it comes. `wav` alone is made here: `pcm` behind one header whose sizes are 0xFFFFFFFF, "until the end",
because nobody knows them yet. Players and ffmpeg take that, and it can be continued after a lost session, as `pcm` can.

An encoded stream that was broken off cannot be continued: what follows is a second stream, with a start and an end of
its own.
"""

import struct
from collections.abc import Iterator
from typing import Final

from speech_protocol import AudioFormat, WordTime

from .events import AgentEvent, AudioChunk, AudioStreamEnd, AudioStreamStart, SentenceTimestamps
from .timeline import Timeline

BYTES_PER_SAMPLE: Final = 2  # 16-bit mono
_UNKNOWN_SIZE: Final = 0xFFFFFFFF
# What a second of speech takes, measured with benchmarks/formats.py: for times inside a stream that is not over yet.
_ENCODED_BYTES_A_SECOND: Final[dict[AudioFormat, float]] = {"mp3": 6_040, "opus": 3_900, "aac": 5_400}


class AnswerAudio:
    """Tells what to say to the caller as the voice starts, sounds and ends; keeps the timeline of it."""

    def __init__(self, audio_format: AudioFormat, timeline: Timeline) -> None:
        self._format = audio_format
        self._timeline = timeline
        self._sample_rate_hz = 0
        self._seq = 0
        self._before_s = 0.0  # of the streams that are over
        self._stream_bytes = 0
        self._stream_s: float | None = None  # exact, once the server has said it
        self._stream_chunks = 0
        self._is_open = False
        self._sentence_start_s: float | None = None

    @property
    def is_samples(self) -> bool:
        """Whether the audio is bare samples, which can be continued anywhere."""
        return self._format in ("pcm", "wav")

    @property
    def position_s(self) -> float:
        """Where on the answer's clock the next audio begins: to the sample for `pcm` and `wav`, else about."""
        return self._before_s + self._so_far_s

    def samples_s(self, audio_bytes: int) -> float:
        """How long so much of the voice's audio plays; 0 for what is not samples."""
        if not self.is_samples or not self._sample_rate_hz:
            return 0.0
        return audio_bytes / (BYTES_PER_SAMPLE * self._sample_rate_hz)

    def started(self, sample_rate_hz: int) -> Iterator[AgentEvent]:
        """Audio of the voice begins, at this rate; again where it is continued in another session."""
        if self._is_open:
            return
        self._is_open = True
        self._sample_rate_hz = sample_rate_hz
        self._stream_bytes = self._stream_chunks = 0
        self._stream_s = None
        yield AudioStreamStart(self._format, sample_rate_hz)
        if self._format == "wav":
            yield self._chunk(wav_header(sample_rate_hz))

    def heard(self, place: int, data: bytes) -> Iterator[AgentEvent]:
        """Audio of the sentence at `place` came."""
        self._timeline.heard(place)
        if self._sentence_start_s is None:
            self._sentence_start_s = self.position_s
        self._stream_bytes += len(data)
        yield self._chunk(data)

    def words(self, place: int, words: tuple[WordTime, ...]) -> Iterator[AgentEvent]:
        """Word times of the sentence came, on the answer's clock, with their places in the answer's text."""
        if words:
            yield SentenceTimestamps(place, words)

    def done(self, place: int) -> None:
        """All audio of the sentence came."""
        start_s, self._sentence_start_s = self._sentence_start_s, None
        self._timeline.done(place, 0.0 if start_s is None else self.position_s - start_s)

    def complete(self, total_s: float) -> None:
        """The server says that all of its stream has come, and how long it plays."""
        if not self.is_samples:
            self._stream_s = total_s

    def broken(self) -> Iterator[AgentEvent]:
        """What follows comes from another encoder."""
        if not self.is_samples:
            self._sentence_start_s = None
            yield from self.ended()

    def ended(self) -> Iterator[AgentEvent]:
        """No audio follows. Says nothing where nothing was started, or twice."""
        if self._is_open:
            self._is_open = False
            duration_s = self._so_far_s
            self._before_s += duration_s
            self._stream_bytes = 0
            self._stream_s = 0.0
            yield AudioStreamEnd(self._stream_chunks, round(duration_s, 6))

    def _chunk(self, data: bytes) -> AudioChunk:
        self._seq += 1
        self._stream_chunks += 1
        return AudioChunk(self._seq - 1, data, self.position_s)

    @property
    def _so_far_s(self) -> float:
        """How long the stream in hand plays, as far as it has come."""
        if self._stream_s is not None:
            return self._stream_s
        if self.is_samples:
            return self.samples_s(self._stream_bytes)
        return self._stream_bytes / _ENCODED_BYTES_A_SECOND[self._format]


def wav_header(sample_rate_hz: int) -> bytes:
    """44 bytes of RIFF/WAVE for 16-bit mono PCM of unknown length (the layout of Microsoft's WAVEFORMAT, PCM)."""
    byte_rate = sample_rate_hz * BYTES_PER_SAMPLE
    audio = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, sample_rate_hz, byte_rate, BYTES_PER_SAMPLE, 16)
    return struct.pack("<4sI4s", b"RIFF", _UNKNOWN_SIZE, b"WAVE") + audio + struct.pack("<4sI", b"data", _UNKNOWN_SIZE)
