"""One request's answer as it takes shape: spoken lines in, encoded audio and the closing event out. No I/O.

Both faces use it. What has been spoken is known to the line: the text is cut where the first undelivered line begins.
"""

import time
from collections.abc import Callable

from speech_protocol import SynthesisCancelled, SynthesisComplete, SynthesisStart, VoiceOptions

from .encoders import encoder_for
from .synthesis import Spoken

Clock = Callable[[], float]


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
        self.duration_s = 0.0
        """Seconds of audio in the lines that were fed."""
        self.first_audio_s: float | None = None
        """Seconds from the request's arrival to its first encoded byte."""
        self._text = text
        self._options = options
        self._arrived_s = arrived_s
        self._clock = clock
        self._encoder = encoder_for(options.format, options.sample_rate)
        self._delivered_s = 0.0
        self._spoken_chars = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the request's arrival."""
        return self._clock() - self._arrived_s

    def start(self) -> SynthesisStart:
        """What goes before the audio."""
        return SynthesisStart(self.request_id, self._options.format, self._options.sample_rate, self._options.voice)

    def feed(self, spoken: Spoken) -> bytes:
        """The encoded bytes that a line completes."""
        self.duration_s += spoken.waveform.duration_s
        return self._count(self._encoder.feed(spoken.waveform.samples))

    def flush(self) -> bytes:
        """The encoded bytes that remain at the end."""
        return self._count(self._encoder.flush())

    def delivered(self, spoken: Spoken) -> None:
        """All audio of a line has been sent."""
        self._delivered_s += spoken.waveform.duration_s
        self._spoken_chars = spoken.line.segment.end_char

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

    def cancelled(self) -> SynthesisCancelled:
        """What goes in place of the rest."""
        return cancelled(self.request_id, self._text, self._spoken_chars, self._delivered_s)

    def _count(self, encoded: bytes) -> bytes:
        if encoded and self.first_audio_s is None:
            self.first_audio_s = self._clock() - self._arrived_s
        self.audio_bytes += len(encoded)
        return encoded


def cancelled(request_id: str, text: str, spoken_chars: int = 0, audio_s: float = 0.0) -> SynthesisCancelled:
    """The end of a request of which `spoken_chars` characters were heard, `audio_s` seconds."""
    return SynthesisCancelled(request_id, text[:spoken_chars], text[spoken_chars:], round(audio_s, 6))
