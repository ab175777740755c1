"""Text that remembers which characters of the text as sent each of its characters came from.

Filter and normaliser rewrite the text ("€45" → "45 euros"), yet word times must point into the text as the caller sent
it. Every step here takes a `Traced` and returns one, so the way back is never lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


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

    def sub(self, pattern: re.Pattern[str], replace: str | Callable[[re.Match[str]], str | None]) -> Traced:
        """Replace every match. A replacement came as a whole from all that it replaces.

        Where `replace` is called and returns None, or the replacement equals what was there, the match stays as it is.
        A replacement that only shortens the match at its ends keeps the origins of what stays.
        """
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for found in pattern.finditer(self.text):
            new = replace if isinstance(replace, str) else replace(found)
            old = found.group()
            if new is None or new == old:
                continue
            low, high = found.span()
            texts.append(self.text[done:low])
            starts.extend(self.starts[done:low])
            ends.extend(self.ends[done:low])
            done = high
            if not new:
                continue
            texts.append(new)
            kept = old.find(new) if low < high else -1
            if kept >= 0:
                starts.extend(self.starts[low + kept : low + kept + len(new)])
                ends.extend(self.ends[low + kept : low + kept + len(new)])
            else:
                first, last = self.range(low, high)
                starts.extend([first] * len(new))
                ends.extend([last] * len(new))
        if not texts and done == 0:
            return self
        texts.append(self.text[done:])
        starts.extend(self.starts[done:])
        ends.extend(self.ends[done:])
        return Traced("".join(texts), tuple(starts), tuple(ends))
