"""Whoever hears jobs one after the other, and what of them is made, sent and still to be made. No clock."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

SILENCE_S: Final = 1e-6
"""Less than a sample of audio: what sums of durations may be off by."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One segment of one job, or the chunk `part` of it."""

    job: int
    index: int
    part: int = 0


@dataclass(slots=True)
class Job:
    """One request. Times are seconds on the clock of whoever counts them."""

    phonemes: tuple[int, ...]  # of each segment
    submitted_s: float
    paced: bool
    in_chunks: bool
    started: int = 0
    made: int = 0
    unsent_s: float = 0.0  # audio that was made and not sent
    segment_s: float = 0.0  # of the segment in hand that is made in chunks: all its audio,
    parts: int = 0  # the chunks that were begun,
    to_come_s: tuple[float, ...] = ()  # and the audio of each that was not

    @property
    def segments(self) -> int:
        """How many there are."""
        return len(self.phonemes)

    @property
    def waiting(self) -> int:
        """The segments that no step has taken."""
        return self.segments - self.started

    @property
    def has_next(self) -> bool:
        """Whether there is something that no step has taken."""
        return bool(self.waiting or self.to_come_s)

    @property
    def rest(self) -> Iterator[float]:
        """What no step has taken, as phonemes: the rest of the segment in hand, then the others."""
        if self.to_come_s:
            yield self._phonemes_in(sum(self.to_come_s))
        yield from self.phonemes[self.started :]

    def next_phonemes(self, first_share: float) -> float:
        """Of the next step. `first_share`: how much of a segment its first chunk is."""
        if self.to_come_s:
            return self._phonemes_in(self.to_come_s[0])
        return self.phonemes[self.started] * (first_share if self.in_chunks else 1.0)

    def take(self, number: int) -> Piece:
        """The next step's piece."""
        if self.to_come_s:
            self.to_come_s = self.to_come_s[1:]
            self.parts += 1
        else:
            self.started += 1
            self.parts = 0
        return Piece(number, self.started - 1, self.parts)

    def took(self, made_s: float, to_come_s: tuple[float, ...]) -> None:
        """The piece in hand has become so much audio."""
        self.unsent_s += made_s
        if self.parts == 0:
            self.segment_s = made_s + sum(to_come_s)
        self.to_come_s = to_come_s
        if not to_come_s:
            self.made += 1

    def _phonemes_in(self, audio_s: float) -> float:
        return self.phonemes[self.started - 1] * audio_s / max(self.segment_s, SILENCE_S)

    @property
    def is_delivered(self) -> bool:
        """Everything was made and sent."""
        return self.made == self.segments and self.unsent_s < SILENCE_S


@dataclass(slots=True)
class Listener:
    """A session, or one HTTP request."""

    sent_until_s: float = -math.inf  # when it will have heard what was sent
    unsent_since_s: float = -math.inf  # when the oldest audio that was not sent was made
    free_s: float = -math.inf  # since when neither a step nor unsent audio holds its next segment back
    jobs: dict[int, Job] = field(default_factory=dict)  # in order of arrival

    @property
    def queue(self) -> Iterator[tuple[Job, float]]:
        """What no step has taken yet, segment by segment: its job and its phonemes."""
        return ((job, phonemes) for job in self.jobs.values() for phonemes in job.rest)

    @property
    def head(self) -> tuple[int, Job] | None:
        """The oldest job with something that no step has taken."""
        return next(((number, job) for number, job in self.jobs.items() if job.has_next), None)

    @property
    def unsent_s(self) -> float:
        """The audio that was made and not sent."""
        return sum(job.unsent_s for job in self.jobs.values())

    def dry_s(self, unsent_s: float) -> float:
        """When it will have heard all that was made; what was not sent is taken to be heard as soon as it can be."""
        if unsent_s < SILENCE_S:
            return self.sent_until_s
        return max(self.sent_until_s, self.unsent_since_s) + unsent_s
