"""The first step on every text: no character may be left that upsets what comes after.

espeak ends a text at U+0000; spaCy keeps zero-width and direction marks inside words, which then are in no lexicon;
misaki takes a curly apostrophe for a quote ("can’t" loses its "not"); and its word search is quadratic in the length of
a run without spaces, so no run may be longer than a word can be. Emoji go as well: espeak would read out their names.
"""

import re

from speech_text.sentence_marks import EMOJI
from speech_text.traced import Traced

#: Longest run without white space that is looked up as a whole, in characters.
LONGEST_RUN = 40

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffd]+")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x9f\ud800-\udfff\ue000-\uf8ff]+")
_APOSTROPHE = re.compile(
    "(?<=\\w)[’ʼ＇`´](?=\\w)|(?<=[sS])’(?=\\s)|(?<!\\w)[’‘](?=(?:\\d0s|[Tt]is|[Tt]was|[Ee]m|[Tt]il|[Cc]ause)\\b)"
)
_SPACE = re.compile(r"\s+")
_LONG_RUN = re.compile(rf"\S{{{LONGEST_RUN + 1},}}")
#: Letters and digits by turns, too often for a name (x9y3…): misaki's search takes seconds over such a run.
_MIXED = re.compile(r"(?:\d+[A-Za-z]+){3,}\d*|(?:[A-Za-z]+\d+){3,}[A-Za-z]*")
_SWITCH = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
_BREAKABLE = re.compile(r"(?<=[^\w\s])(?=\w)|(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")


def clean(traced: Traced) -> Traced:
    """One line of text with ordinary spaces and apostrophes, without emoji or invisible characters."""
    traced = traced.sub(EMOJI, " ")
    traced = traced.sub(_INVISIBLE, _unless_joining)
    traced = traced.sub(_CONTROL, " ")
    traced = traced.sub(_APOSTROPHE, "'")
    return traced.sub(_SPACE, " ")


def break_long_runs(traced: Traced) -> Traced:
    """Spaces inside runs that are longer than any word, at the best place there is."""
    places: list[int] = []
    for found in _LONG_RUN.finditer(traced.text):
        start, end = found.span()
        while end - start > LONGEST_RUN:
            breaks = [place.start() for place in _BREAKABLE.finditer(traced.text, start + 8, start + LONGEST_RUN)]
            start = breaks[-1] if breaks else start + LONGEST_RUN
            places.append(start)
    return traced.insert(places, " ") if places else traced


def spread_mixed_runs(traced: Traced) -> Traced:
    """Spaces between Latin letters and digits where they alternate."""
    places = [
        place.start()
        for run in _MIXED.finditer(traced.text)
        for place in _SWITCH.finditer(traced.text, run.start() + 1, run.end())
    ]
    return traced.insert(places, " ") if places else traced


def _unless_joining(found: re.Match[str]) -> str | None:
    """Joiners shape Devanagari conjuncts and stay there; elsewhere they are noise."""
    if found.group() not in ("\u200c", "\u200d") or found.start() == 0:
        return ""
    return None if "\u0900" <= found.string[found.start() - 1] <= "\u0d7f" else ""
