"""What a grapheme-to-phoneme engine answers: tokens with their place in the text they were given."""

import re
from collections.abc import Iterator, Sequence
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


def parts(text: str, overrides: Sequence[Override], pattern: re.Pattern[str]) -> Iterator[Spoken | re.Match[str]]:
    """`text` from left to right: what is overridden by phonemes, as spoken, and around it the matches of `pattern`.

    No match reaches into an override; a character that neither covers (white space) is passed over.
    """
    given = {override.start: override for override in overrides if override.phonemes is not None}
    at = 0
    while at < len(text):
        override = given.get(at)
        if override is not None:
            yield Spoken(at, override.end, override.phonemes or "", True)
            at = override.end
            continue
        limit = min([len(text), *(place for place in given if place > at)])
        found = pattern.match(text, at, limit)
        if found is None:
            at += 1
            continue
        yield found
        at = found.end()


class Pronouncer(Protocol):
    """One language's grapheme-to-phoneme engine. Not expected to be safe to call from two threads at once."""

    def __call__(self, text: str, overrides: Sequence[Override] = ()) -> list[Spoken]:
        """The tokens of `text` in order, covering every character that is not white space."""
        ...
