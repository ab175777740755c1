"""When each word of an answer sounds, and how much of its text a listener has heard by a given moment.

Kokoro predicts how many frames of 25 ms each token takes (`Waveform.frames`), a token is a phoneme, and the front end
knows which phonemes a word of the text as sent has become. So times need no recogniser and hold in every language,
whatever the speed. A pause belongs to no word: a word begins with its first phoneme and ends with its last.
"""

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

import numpy as np
from speech_protocol import SynthesisCancelled, WordTime

from .engine import FRAME_SAMPLES, SAMPLE_RATE_HZ
from .synthesis import Spoken

_TOLERANCE_S: Final = 0.005  # a fifth of a frame: for sums of fractions, and players that count in milliseconds


def word_times(spoken: Spoken, *, start_s: float = 0.0, start_char: int = 0) -> tuple[WordTime, ...]:
    """The words of a line that begins `start_s` into the answer, its text `start_char` into the text as sent.

    Times increase strictly and lie inside the line. None where the engine gave no durations. A word without a phoneme
    of its own takes no time and is left out.
    """
    frames = spoken.waveform.frames
    if frames is None:
        return ()
    ends_s = np.cumsum(frames) * (FRAME_SAMPLES / SAMPLE_RATE_HZ)  # [0] ends the opening boundary token
    ends_s += start_s - min(spoken.waveform.lead_s, ends_s[0])
    return tuple(
        WordTime(
            word.text,
            round(float(ends_s[word.phoneme_start]), 6),
            round(float(ends_s[word.phoneme_end]), 6),
            start_char + word.start_char,
            start_char + word.end_char,
        )
        for word in spoken.line.segment.words
        if ends_s[word.phoneme_start] < ends_s[word.phoneme_end]
    )


class Alignment:
    """The moments at which one more piece of the text has been heard: 16 bytes a word."""

    def __init__(self) -> None:
        self._ends_s = array("d")
        self._ends_char = array("Q")

    def add(self, spoken: Spoken, words: tuple[WordTime, ...], *, start_s: float, start_char: int) -> None:
        """A line with its `words` as `word_times` gives them; of one in chunks, its first. Without words it counts as
        heard at its end."""
        last_char = start_char + spoken.line.segment.end_char
        for word in words[:-1]:
            self.mark(word.end_s, word.end_char)
        self.mark(words[-1].end_s if words else start_s + spoken.line_s, last_char)

    def chars_heard(self, heard_s: float) -> int:
        """How many characters of the text are over when `heard_s` of the audio have been heard, to the whole word."""
        marks = bisect_right(self._ends_s, heard_s + _TOLERANCE_S)
        return self._ends_char[marks - 1] if marks else 0

    def mark(self, end_s: float, end_char: int) -> None:
        """The text up to `end_char` is over at `end_s`, which is not before the mark in front."""
        self._ends_s.append(end_s)
        self._ends_char.append(max(end_char, self._ends_char[-1] if self._ends_char else 0))


@dataclass(frozen=True, slots=True, eq=False)
class Transcript:
    """One answer in words: its text, when each word ended, and how much audio was sent."""

    request_id: str
    text: str
    alignment: Alignment
    sent_s: float

    @classmethod
    def unspoken(cls, request_id: str, text: str) -> "Transcript":
        """Of a request that made no sound."""
        return cls(request_id, text, Alignment(), 0.0)

    def cancelled(self, played_s: float | None = None) -> SynthesisCancelled:
        """What was heard and what was not. `played_s`: as the listener counts it, at most what was sent."""
        heard_s = self.sent_s if played_s is None else min(played_s, self.sent_s)
        heard = self.alignment.chars_heard(heard_s)
        return SynthesisCancelled(self.request_id, self.text[:heard], self.text[heard:], round(self.sent_s, 6))
