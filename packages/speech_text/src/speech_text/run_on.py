"""Where to cut text that goes on too long without the end of a sentence.

A voice cannot wait for the end of a list of forty items or of a paragraph without punctuation. Pure function over the
visible window; it prefers, in this order, an end inside quotes, a clause, the start of a clause by its conjunction, a
space, in Japanese the start of a word by its script, and last any place that does not split a character.
"""

import re
import unicodedata
from collections.abc import Collection

#: A clause mark with white space after it (so no cut inside `1,000` or `3:45`), or a CJK one, and closing marks.
_CLAUSE = re.compile(r"(?:[;:,،؛.!?…—–][\"'”’»)\]*_]*|[)\]])(?=\s)|(?<=\s)[—–-](?=\s)|[、，；：]")
_GAP = re.compile(r"\s+")
_KANA_TO_WORD = re.compile(r"(?<=[\u3041-\u309f])(?=[\u30a0-\u30ff\u4e00-\u9fff])")
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"


def cut(text: str, start: int, end: int, held: int | None, joiners: Collection[str]) -> int:
    """An index in `start + 1 .. end - 1` at which to cut `text[start:end]`.

    Args:
        held: end of a sentence inside quotes or brackets, if one was seen.
        joiners: small-letter words before which a clause begins.
    """
    last = end - 1
    quarter = start + (last - start) // 4
    if held is not None and quarter <= held <= last:
        return held
    clauses = [clause.end() for clause in _CLAUSE.finditer(text, quarter, end) if clause.end() <= last]
    if clauses:
        return clauses[-1]
    gaps = [gap.start() for gap in _GAP.finditer(text, start, end) if start < gap.start() <= last]
    for gap in reversed(gaps):
        if gap < quarter:
            break
        if _word_after(text, gap, end) in joiners:
            return gap
    if gaps:
        return gaps[-1]
    words = [word.start() for word in _KANA_TO_WORD.finditer(text, start + (last - start) // 2 + 1, end)]
    if words:
        return words[-1]
    return _whole_character(text, start, last)


def _word_after(text: str, gap: int, end: int) -> str:
    words = text[gap : min(end, gap + 24)].split(None, 1)
    return words[0].lower() if len(words) == 2 or (words and gap + 24 < end) else ""


def _whole_character(text: str, start: int, i: int) -> int:
    """The last place up to `i` that does not part a letter from its marks or an emoji from its joiners."""
    place = i
    while place > start + 1 and _continues(text, place):
        place -= 1
    return place if not _continues(text, place) else i


def _continues(text: str, i: int) -> bool:
    character = text[i]
    return (
        character in _JOINERS
        or text[i - 1] == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or unicodedata.category(character) in ("Mn", "Mc", "Me")
    )
