"""Text that remembers which characters of the text as sent each of its characters came from.

Filter and normaliser rewrite the text ("€45" → "45 euros"), yet word times must point into the text as the caller sent
it. Every step here takes a `Traced` and returns one, so the way back is never lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

#: What a match becomes: a text that came from all of it; or parts, of which spans `(start, end)` of the searched text
#: keep their own origins and strings are additions without one; or None for no change.
New = str | tuple[str | tuple[int, int], ...] | None
Replacement = str | Callable[[re.Match[str]], New]


@dataclass(frozen=True)
class Traced:
    """`text[i]` came from `source[starts[i]:ends[i]]`. Starts never decrease, nor do ends.

    A character that was put in without an original (a space between letters and digits) has an empty range.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, source: str) -> Traced:
        """The text as sent: every character from itself."""
        return cls(source, tuple(range(len(source))), tuple(range(1, len(source) + 1)))

    def range(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the source that `text[start:end]` came from. Empty only for inserted characters."""
        if start >= end:
            at = self.starts[start] if start < len(self.starts) else (self.ends[-1] if self.ends else 0)
            return at, at
        return self.starts[start], max(self.starts[start], self.ends[end - 1])

    def part(self, start: int, end: int) -> Traced:
        """`text[start:end]` with its origins."""
        return Traced(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def join(self, other: Traced) -> Traced:
        """This text and then the other, which comes from later in the source."""
        return Traced(self.text + other.text, self.starts + other.starts, self.ends + other.ends)

    def insert(self, places: list[int], text: str) -> Traced:
        """`text`, which came from nowhere, before each of the places (in order)."""
        maker = _Maker(self)
        for place in places:
            maker.keep(maker.done, place)
            maker.done = place
            maker.add(text)
        return maker.made()

    def sub(self, pattern: re.Pattern[str], replace: Replacement) -> Traced:
        """Replace every match; see `New` for what a replacement may be."""
        maker = _Maker(self)
        for found in pattern.finditer(self.text):
            new = replace if isinstance(replace, str) else replace(found)
            if new is None or new == found[0]:
                continue
            low, high = found.span()
            maker.keep(maker.done, low)
            maker.done = high
            if isinstance(new, str):
                maker.replace(low, high, new)
                continue
            for part in new:
                if isinstance(part, str):
                    maker.add(part)
                else:
                    maker.keep(*part)
        return maker.made()


class _Maker:
    """Collects a new text from parts of an old one."""

    def __init__(self, old: Traced) -> None:
        self._old = old
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.done = 0

    def keep(self, start: int, end: int) -> None:
        self._texts.append(self._old.text[start:end])
        self._starts.extend(self._old.starts[start:end])
        self._ends.extend(self._old.ends[start:end])

    def add(self, text: str) -> None:
        at = self._ends[-1] if self._ends else self._old.range(self.done, self.done)[0]
        self._texts.append(text)
        self._starts.extend([at] * len(text))
        self._ends.extend([at] * len(text))

    def replace(self, low: int, high: int, text: str) -> None:
        first, last = self._old.range(low, high)
        self._texts.append(text)
        self._starts.extend([first] * len(text))
        self._ends.extend([last] * len(text))

    def made(self) -> Traced:
        if not self._texts:
            return self._old
        self.keep(self.done, len(self._old.text))
        return Traced("".join(self._texts), tuple(self._starts), tuple(self._ends))
