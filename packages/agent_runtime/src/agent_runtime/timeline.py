"""When each sentence was written, sent, heard and done: the numbers behind the timeline that people look at.

A chunker returns a sentence only when later text has shown where it ends, so the moment it is returned is not the
moment it was written. Sentences are verbatim slices in order; the delta that held the last character of one is found
by counting characters.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from .events import SentenceTimes

Clock = Callable[[], float]


class Timeline:
    """Times of one answer, in ms since this object was made. `clock` gives seconds and never goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s = clock()
        self._text = ""
        self._delta_ends: list[int] = []
        self._delta_ms: list[float] = []
        self._searched = 0
        self._sentences: list[SentenceTimes] = []
        self._start_chars: list[int] = []

    @property
    def now_ms(self) -> float:
        """Milliseconds since the answer was asked for."""
        return round((self._clock() - self._began_s) * 1000, 3)

    @property
    def text(self) -> str:
        """The answer as far as the model has written it."""
        return self._text

    @property
    def first_text_ms(self) -> float | None:
        """When the first text came."""
        return self._delta_ms[0] if self._delta_ms else None

    @property
    def first_audio_ms(self) -> float | None:
        """When the first audio of the answer came."""
        return min((times.heard_ms for times in self._sentences if times.heard_ms is not None), default=None)

    @property
    def sentences(self) -> tuple[SentenceTimes, ...]:
        """All sentences so far, in order."""
        return tuple(self._sentences)

    def wrote(self, delta: str) -> None:
        """`delta` came from the model just now."""
        self._text += delta
        self._delta_ends.append(len(self._text))
        self._delta_ms.append(self.now_ms)

    def add(self, sentence: str) -> int:
        """`sentence`, the next verbatim slice of the text, is to be spoken. Returns its place."""
        start = self._text.find(sentence, self._searched)
        if start < 0:
            raise ValueError(
                f"a sentence of {len(sentence)} characters is no slice of the text after the one before it"
            )
        self._searched = start + len(sentence)
        written_ms = self._delta_ms[bisect_left(self._delta_ends, self._searched)]
        self._sentences.append(SentenceTimes(sentence, written_ms))
        self._start_chars.append(start)
        return len(self._sentences) - 1

    def start_char(self, place: int, part: str = "") -> int:
        """Where in the answer's text the sentence begins, or a part of it that is a slice."""
        return self._start_chars[place] + max(0, self._sentences[place].text.find(part))

    def end_char(self, place: int) -> int:
        """Where in the answer's text the sentence ends."""
        return self._start_chars[place] + len(self._sentences[place].text)

    def sent(self, place: int) -> None:
        """The sentence was handed to the speech session."""
        if self._sentences[place].sent_ms is None:
            self._set(place, sent_ms=self.now_ms)

    def heard(self, place: int) -> None:
        """Audio of the sentence came, so it was sent; the first time counts."""
        self.sent(place)
        if self._sentences[place].heard_ms is None:
            self._set(place, heard_ms=self.now_ms)

    def done(self, place: int, audio_s: float) -> None:
        """All audio of the sentence has come; it plays for `audio_s`."""
        self._set(place, done_ms=self.now_ms, audio_s=round(audio_s, 6))

    def _set(self, place: int, **times: Any) -> None:
        self._sentences[place] = dataclasses.replace(self._sentences[place], **times)
