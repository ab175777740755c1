"""One request's answer as it takes shape: spoken lines in, encoded audio and the closing event out. No I/O.

Both faces use it. What has been spoken is known to the line: the text is cut where the first undelivered line begins.

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
from speech_protocol import ErrorCode, SynthesisCancelled, SynthesisComplete, SynthesisStart, VoiceOptions

from .encoders import encoder_for
from .engine import SAMPLE_RATE_HZ
from .errors import CodecFailed, Refusal
from .synthesis import Spoken

logger = logging.getLogger(__name__)

Clock = Callable[[], float]

PIECE_SAMPLES: Final = 7680  # 320 ms: 1 to 4 ms of work, against 0.1 ms for the way to another thread and back


class Delivery:
    """`text` and `options` as requested; `arrived_s`: when the request came, on `clock`."""

    def __init__(
        self,
        request_id: str,
        text: str,
        options: VoiceOptions,
        *,
        arrived_s: float,
        clock: Clock = time.monotonic,
    ) -> None:
        self.request_id = request_id
        self.audio_bytes = 0
        self.first_audio_s: float | None = None
        """Seconds from the request's arrival to its first encoded byte."""
        self._text = text
        self._options = options
        self._arrived_s = arrived_s
        self._clock = clock
        self._encoder = encoder_for(options.format, options.sample_rate)
        self._encoded_samples = 0
        self._delivered_s = 0.0
        self._spoken_chars = 0

    def start(self) -> SynthesisStart:
        """What goes before the audio."""
        return SynthesisStart(self.request_id, self._options.format, self._options.sample_rate, self._options.voice)

    @property
    def duration_s(self) -> float:
        """Seconds of audio in the pieces that were encoded."""
        return self._encoded_samples / SAMPLE_RATE_HZ

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

    def delivered(self, spoken: Spoken) -> None:
        """All audio of a line has been sent."""
        self._delivered_s += spoken.waveform.duration_s
        self._spoken_chars = spoken.line.segment.end_char

    def complete(self, queue_s: float) -> SynthesisComplete:
        """What goes after the audio."""
        elapsed_s = self._clock() - self._arrived_s
        return SynthesisComplete(
            request_id=self.request_id,
            total_duration_s=round(self.duration_s, 6),
            elapsed_s=round(elapsed_s, 6),
            queue_s=round(queue_s, 6),
            first_audio_s=round(elapsed_s if self.first_audio_s is None else self.first_audio_s, 6),
            audio_bytes=self.audio_bytes,
        )

    def cancelled(self) -> SynthesisCancelled:
        """What goes in place of the rest."""
        return cancelled(self.request_id, self._text, self._spoken_chars, self._delivered_s)

    async def _run[**P](self, step: Callable[P, bytes], *arguments: P.args, **keywords: P.kwargs) -> bytes:
        """A step of the encoder, where it can take its time. Raises `Refusal`."""
        if self._encoder.is_quick:
            return step(*arguments, **keywords)
        try:
            return await asyncio.to_thread(step, *arguments, **keywords)
        except CodecFailed:
            logger.exception("a codec failed", extra={"fields": {"request_id": self.request_id}})
            text = f"the {self._options.format} encoder failed; try again, or ask for another format"
            raise Refusal(ErrorCode.SYNTHESIS_FAILED, text) from None

    def _count(self, encoded: bytes) -> bytes:
        if encoded and self.first_audio_s is None:
            self.first_audio_s = self._clock() - self._arrived_s
        self.audio_bytes += len(encoded)
        return encoded


def cancelled(request_id: str, text: str, spoken_chars: int = 0, audio_s: float = 0.0) -> SynthesisCancelled:
    """The end of a request of which `spoken_chars` characters were heard, `audio_s` seconds."""
    return SynthesisCancelled(request_id, text[:spoken_chars], text[spoken_chars:], round(audio_s, 6))
