"""Pronunciations that travel with the text: set before the normaliser runs, found again after it.

A word whose pronunciation is given (by a lexicon, or inline as `[word](/phonemes/)`) must not be rewritten, and its
place is only known once everything around it has been. So it is replaced by one private-use character, which stands
for it until `unmark` puts the word back and says where it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from speech_text.heteronyms import heteronyms
from speech_text.lexicon import RESPELLED, find
from speech_text.speakable import INLINE
from speech_text.spoken import Override
from speech_text.traced import Traced

#: Around letters that are to be said by name (`A W S`): put in by the normaliser, taken out by `unmark`.
LETTERS = "\ue001"
_FIRST = 0xE100
_LAST = 0xF8FF
_MARK = re.compile(f"{LETTERS}([^{LETTERS}]*){LETTERS}|[{chr(_FIRST)}-{chr(_LAST)}]")


def spell(letters: str) -> str:
    """The letters one by one, marked to be said by name."""
    return f"{LETTERS}{' '.join(letters)}{LETTERS}"


@dataclass(frozen=True)
class Marked:
    """A text with private-use characters for the words in `words`, in order."""

    text: Traced
    words: tuple[tuple[Traced, Override], ...]


def mark(traced: Traced, lexicon: Mapping[str, str], language: str) -> Marked:
    """Take the given pronunciations out of the text: inline ones, then the lexicon's, then those of heteronyms."""
    words: list[tuple[Traced, Override]] = []

    def take(word: Traced, override: Override) -> str | None:
        if _FIRST + len(words) > _LAST:
            return None
        words.append((word, override))
        return chr(_FIRST + len(words) - 1)

    def inline(found: re.Match[str]) -> str | None:
        return take(traced.part(*found.span(1)), _inline(found[2]))

    traced = traced.sub(INLINE, inline)
    given = find(lexicon, traced.text)
    taken = {i for override in given for i in range(override.start, override.end)}
    given += [override for override in heteronyms(traced.text, language) if override.start not in taken]
    for override in sorted(given, key=lambda override: -override.start):
        before, word, after = (
            traced.part(0, override.start),
            traced.part(override.start, override.end),
            traced.part(override.end, len(traced.text)),
        )
        phonemes = override.phonemes or ""
        if phonemes.startswith(RESPELLED):
            stand_in = phonemes.removeprefix(RESPELLED).strip()
        else:
            stand_in = take(word, override) or word.text
        traced = before.join(word.sub(_ALL, stand_in)).join(after)
    return Marked(traced, tuple(words))


def unmark(marked: Marked, normalised: Traced) -> tuple[Traced, list[Override]]:
    """The normalised text with its words back in place, and where they are."""
    whole, done = Traced("", (), ()), 0
    overrides: list[Override] = []
    for found in _MARK.finditer(normalised.text):
        whole = whole.join(normalised.part(done, found.start()))
        done = found.end()
        start = len(whole.text)
        if found[1] is not None:
            whole = whole.join(normalised.part(*found.span(1)))
            overrides.append(Override(start, len(whole.text), letters=True))
            continue
        index = ord(found[0]) - _FIRST
        if index < len(marked.words):
            word, override = marked.words[index]
            whole = whole.join(word)
            overrides.append(replace(override, start=start, end=len(whole.text)))
    return whole.join(normalised.part(done, len(normalised.text))), overrides


def render(text: str, overrides: list[Override]) -> str:
    """The text with its pronunciations in Kokoro's inline syntax."""
    result, done = "", 0
    for override in overrides:
        word = text[override.start : override.end]
        result += text[done : override.start]
        done = override.end
        if override.phonemes is not None:
            word = f"[{word}](/{override.phonemes}/)"
        elif override.stress is not None:
            word = f"[{word}]({override.stress:+g})"
        result += word
    return result + text[done:]


def _inline(feature: str) -> Override:
    if feature.startswith("/"):
        return Override(0, 0, phonemes=feature.strip("/").strip())
    return Override(0, 0, stress=float(feature))


_ALL = re.compile(r".+", re.DOTALL)
