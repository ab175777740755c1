"""One request's answer as it takes shape: spoken lines in, word times, encoded audio and the closing event out. No I/O.

Both faces use it. A line is announced by `begin`, encoded piece by piece, and counted by `sent` as it leaves; so what a
listener can have heard is known to the word at any moment.

A codec takes up to 10 ms for a second of audio, and a line may last 20 s. So a line is encoded in pieces, each in
another thread (the codecs and the resampler let go of the interpreter): the event loop is never held, the first bytes
leave after the first piece, and a cancel takes effect between two.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from speech_protocol import ErrorCode, SynthesisComplete, SynthesisStart, Timestamps, VoiceOptions

from .alignment import Alignment, Transcript, word_times
from .encoders import encoder_for
from .engine import SAMPLE_RATE_HZ
from .errors import CodecFailed, Refusal
from .playback import Playback
from .synthesis import Spoken

logger = logging.getLogger(__name__)

Clock = Callable[[], float]

PIECE_SAMPLES: Final = 7680  # 320 ms: 1 to 4 ms of work, against 0.1 ms for the way to another thread and back


class Delivery:
    """`options` as requested; `arrived_s`: when the request came, on `clock`."""

    def __init__(
        self,
        request_id: str,
        options: VoiceOptions,
        *,
        arrived_s: float,
        clock: Clock = time.monotonic,
    ) -> None:
        self.request_id = request_id
        self.audio_bytes = 0
        self.first_audio_s: float | None = None
        """Seconds from the request's arrival to its first encoded byte."""
        self.options = options
        self.playback = Playback()
        """What a listener would have heard who plays it as it comes."""
        self._arrived_s = arrived_s
        self._clock = clock
        self._encoder = encoder_for(options.format, options.sample_rate)
        self._encoded_samples = 0
        self._alignment = Alignment()
        self._piece_s = 0.0  # where the line in hand, or its chunk, begins in the answer
        self._begun_s = 0.0  # where it ends
        self._sent_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the request's arrival."""
        return self._clock() - self._arrived_s

    def start(self) -> SynthesisStart:
        """What goes before the audio."""
        return SynthesisStart(self.request_id, self.options.format, self.options.sample_rate, self.options.voice)

    @property
    def duration_s(self) -> float:
        """Seconds of audio in the pieces that were encoded."""
        return self._encoded_samples / SAMPLE_RATE_HZ

    def begin(self, spoken: Spoken, start_char: int = 0) -> Timestamps | None:
        """A line is next, of a text that begins at `start_char` of the whole: its word times, if they were asked for.

        They go before its audio, all of them before its first chunk. None also where the engine gives no durations.
        """
        self._piece_s = self._begun_s
        self._begun_s += spoken.waveform.duration_s
        if spoken.part:
            return None
        words = word_times(spoken, start_s=self._piece_s, start_char=start_char)
        self._alignment.add(spoken, words, start_s=self._piece_s, start_char=start_char)
        return Timestamps(self.request_id, words) if words and self.options.timestamps else None

    def pieces(self, spoken: Spoken) -> list[NDArray[np.float32]]:
        """A line's samples as `encode` takes them."""
        samples = spoken.waveform.samples
        if self._encoder.is_quick:
            return [samples]
        return [samples[start : start + PIECE_SAMPLES] for start in range(0, len(samples), PIECE_SAMPLES)]

    async def encode(self, piece: NDArray[np.float32]) -> bytes:
        """The encoded bytes that a piece completes. One call at a time. Raises `Refusal` where a codec fails."""
        self._encoded_samples += len(piece)
        return self._count(await self._run(self._encoder.feed, piece))

    async def flush(self) -> bytes:
        """The encoded bytes that remain at the end."""
        return self._count(await self._run(self._encoder.flush))

    async def as_file(self, encoded: bytes) -> bytes:
        """All encoded bytes, after the flush, as a file that says how long it is."""
        whole = await self._run(self._encoder.as_file, encoded)
        self.audio_bytes += len(whole) - len(encoded)
        return whole

    def sent(self, share: float) -> None:
        """So much of the line or chunk in hand has left, from 0 to 1."""
        self._sent_s = self._piece_s + share * (self._begun_s - self._piece_s)

    def complete(self, queue_s: float) -> SynthesisComplete:
        """What goes after the audio."""
        elapsed_s = self.elapsed_s
        return SynthesisComplete(
            request_id=self.request_id,
            total_duration_s=round(self.duration_s, 6),
            elapsed_s=round(elapsed_s, 6),
            queue_s=round(queue_s, 6),
            first_audio_s=round(elapsed_s if self.first_audio_s is None else self.first_audio_s, 6),
            audio_bytes=self.audio_bytes,
        )

    def transcript(self, text: str) -> Transcript:
        """What was spoken of `text`: for a cancel, now or after the end."""
        return Transcript(self.request_id, text, self._alignment, self._sent_s)

    async def _run[**P](self, step: Callable[P, bytes], *arguments: P.args, **keywords: P.kwargs) -> bytes:
        """A step of the encoder, where it can take its time. Raises `Refusal`."""
        if self._encoder.is_quick:
            return step(*arguments, **keywords)
        try:
            return await asyncio.to_thread(step, *arguments, **keywords)
        except CodecFailed:
            logger.exception("a codec failed", extra={"fields": {"request_id": self.request_id}})
            text = f"the {self.options.format} encoder failed; try again, or ask for another format"
            raise Refusal(ErrorCode.SYNTHESIS_FAILED, text) from None

    def _count(self, encoded: bytes) -> bytes:
        if encoded and self.first_audio_s is None:
            self.first_audio_s = self._clock() - self._arrived_s
        self.audio_bytes += len(encoded)
        return encoded
