"""What belongs to a sentence after its last stop: closing quotes and brackets, citations, emoji.

Pure functions over the visible text, for `sentence_end.judge`. Each answers None while more text could change what it
says, and its answer holds for every longer text.
"""

import re
from dataclasses import dataclass

from speech_text import enclosures
from speech_text.enclosures import Open
from speech_text.sentence_marks import (
    BLANKS,
    CITATION,
    CLOSERS,
    EMOJI,
    MARKUP,
    NEWLINES,
    OPENERS,
    SPACES,
    STOP_RUN,
    STOPS,
)


def _past(pattern: re.Pattern[str], text: str, i: int, end: int) -> int:
    found = pattern.match(text, i, end)
    return i if found is None else found.end()


def past_stops(text: str, i: int, end: int) -> int:
    return _past(STOP_RUN, text, i, end)


def _past_blanks(text: str, i: int, end: int) -> int:
    return _past(BLANKS, text, i, end)


def close(text: str, start: int, i: int, end: int, final: bool, opened: Open) -> tuple[int, Open] | None:
    """Where the closing marks (and further stops) after a run of stops end, and what is open then."""
    while i < end:
        mark = text[i]
        following = text[i + 1] if i + 1 < end else ""
        if not following and not final:
            return None
        if mark in STOPS:
            i = past_stops(text, i, end)
        elif mark in "'’":
            if following.isalpha():
                break
            opened = enclosures.turn(text, start, i, following, opened)
            i += 1
        elif mark in MARKUP:
            i += 1
        elif mark in CLOSERS or mark == "«":
            outer = enclosures.turn(text, start, i, following, opened)
            if len(outer) > len(opened):
                break  # it opens
            if outer == opened and mark in OPENERS and mark != '"':
                break  # it would open, but for the depth
            opened = outer
            i += 1
        elif mark == "[":
            if end - i < 5 and not final and "]" not in text[i:end]:
                return None
            citation = CITATION.match(text, i, end)
            if citation is None:
                break
            i = citation.end()
        elif mark.isspace() and mark not in NEWLINES and opened and opened[-1] in ("»", "›"):
            past = _past_blanks(text, i, end)
            if past == end and not final:
                return None
            if past == end or text[past] not in opened[-1]:
                break
            i = past
        else:
            break
    if i == end and not final:
        return None
    return i, opened


@dataclass(frozen=True)
class Settled:
    """What surrounds a possible end: where it is once emoji are taken in, and what comes next."""

    cut: int
    #: Index of the next character that is not white space.
    following: int
    spaced: bool
    line_ended: bool
    #: The text is over.
    at_end: bool = False


def settle(text: str, i: int, end: int, final: bool) -> Settled | None:
    """Take in the emoji that belong to what ended at `i`; None while more text could change the answer.

    Emoji on the same line belong to the sentence before. On a line of their own they do too, since nothing may be
    left that is only an emoji; at the head of a line with words they belong to the words.
    """
    cut, spaced = i, False
    while True:
        past = _past_blanks(text, i, end)
        spaced = spaced or past > i
        if past == end:
            return Settled(cut, end, spaced, False, at_end=True) if final else None
        if text[past] in NEWLINES:
            return _settle_line(text, cut, past, end, final)
        if _may_be_emoticon(text, past, end, final):
            return None
        emoji = EMOJI.match(text, past, end)
        if emoji is None:
            return Settled(cut, past, spaced, False)
        if emoji.end() == end and not final:
            return None
        cut = i = emoji.end()
        spaced = True
        if i < end and text[i] in STOPS:
            cut = i = past_stops(text, i, end)
            if i == end and not final:
                return None


def _may_be_emoticon(text: str, i: int, end: int, final: bool) -> bool:
    """Whether too little is visible to tell `:-)` from a colon."""
    return not final and end - i < 4 and text[i : i + 1] in (":", ";") and i < end


def _settle_line(text: str, cut: int, i: int, end: int, final: bool) -> Settled | None:
    """Go on at the line end at `i`: lines of nothing but emoji are taken in."""
    while True:
        past = _past(SPACES, text, i, end)
        if past == end:
            return Settled(cut, end, True, True, at_end=final) if final else None
        following = past
        if _may_be_emoticon(text, past, end, final):
            return None
        emoji = EMOJI.match(text, past, end)
        while emoji is not None:
            past = _past_blanks(text, emoji.end(), end)
            alone_until = emoji.end()
            if _may_be_emoticon(text, past, end, final):
                return None
            emoji = EMOJI.match(text, past, end)
            if past == end and not final:
                return None
            if emoji is None and (past == end or text[past] in NEWLINES):
                cut = alone_until
                break
        else:
            return Settled(cut, following, True, True)
        i = past
