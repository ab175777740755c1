"""One request's answer as it takes shape: spoken lines in, word times, encoded audio and the closing event out. No I/O.

Both faces use it. A line is announced by `begin`, encoded by `feed`, and counted by `sent` as it leaves; so what a
listener can have heard is known to the word at any moment.
"""

import time
from collections.abc import Callable

from speech_protocol import SynthesisComplete, SynthesisStart, Timestamps, VoiceOptions

from .alignment import Alignment, Transcript, word_times
from .encoders import encoder_for
from .synthesis import Spoken

Clock = Callable[[], float]


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
        self.duration_s = 0.0
        """Seconds of audio in the lines that were fed."""
        self.first_audio_s: float | None = None
        """Seconds from the request's arrival to its first encoded byte."""
        self._options = options
        self._arrived_s = arrived_s
        self._clock = clock
        self._encoder = encoder_for(options.format, options.sample_rate)
        self._alignment = Alignment()
        self._line_s = 0.0  # where the line in hand begins in the answer
        self._begun_s = 0.0  # where it ends
        self._sent_s = 0.0

    def start(self) -> SynthesisStart:
        """What goes before the audio."""
        return SynthesisStart(self.request_id, self._options.format, self._options.sample_rate, self._options.voice)

    def begin(self, spoken: Spoken, start_char: int = 0) -> Timestamps | None:
        """A line is next, of a text that begins at `start_char` of the whole: its word times, if they were asked for.

        They go before its audio. None also where the engine gives no durations.
        """
        self._line_s = self._begun_s
        self._begun_s += spoken.waveform.duration_s
        words = word_times(spoken, start_s=self._line_s, start_char=start_char)
        self._alignment.add(spoken, words, start_s=self._line_s, start_char=start_char)
        return Timestamps(self.request_id, words) if words and self._options.timestamps else None

    def feed(self, spoken: Spoken) -> bytes:
        """The encoded bytes that a line completes."""
        self.duration_s += spoken.waveform.duration_s
        return self._count(self._encoder.feed(spoken.waveform.samples))

    def flush(self) -> bytes:
        """The encoded bytes that remain at the end."""
        return self._count(self._encoder.flush())

    def sent(self, share: float) -> None:
        """So much of the line in hand has left, from 0 to 1."""
        self._sent_s = self._line_s + share * (self._begun_s - self._line_s)

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

    def transcript(self, text: str) -> Transcript:
        """What was spoken of `text`: for a cancel, now or after the end."""
        return Transcript(self.request_id, text, self._alignment, self._sent_s)

    def _count(self, encoded: bytes) -> bytes:
        if encoded and self.first_audio_s is None:
            self.first_audio_s = self._clock() - self._arrived_s
        self.audio_bytes += len(encoded)
        return encoded
