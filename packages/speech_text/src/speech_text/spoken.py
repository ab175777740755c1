"""What a grapheme-to-phoneme engine answers: tokens with their place in the text they were given."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Spoken:
    """One token: `text[start:end]` is said as `phonemes` (in Kokoro's alphabet; '' if it is silent).

    `spaced` tells whether white space follows. `unknown` tells that the engine could not say it.
    """

    start: int
    end: int
    phonemes: str
    spaced: bool
    unknown: bool = False


@dataclass(frozen=True)
class Override:
    """`text[start:end]` is to be said in a given way.

    As `phonemes`; or with its stress changed by `stress` (misaki's scale, -2 to 2); or as the names of its `letters`.
    """

    start: int
    end: int
    phonemes: str | None = None
    stress: float | None = None
    letters: bool = False


class Pronouncer(Protocol):
    """One language's grapheme-to-phoneme engine. Not expected to be safe to call from two threads at once."""

    def __call__(self, text: str, overrides: Sequence[Override] = ()) -> list[Spoken]:
        """The tokens of `text` in order, covering every character that is not white space."""
        ...
