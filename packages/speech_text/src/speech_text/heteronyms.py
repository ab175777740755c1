"""English words of one spelling and two sounds that misaki's part-of-speech rules do not tell apart.

misaki gets most of them right ("I read daily", "he read it"); the rows here are those it gets wrong because both are
nouns or the tag is the same ("lead pipe"). Each row names the neighbours that decide.
"""

import re
from dataclasses import dataclass

from speech_text.spoken import Override


@dataclass(frozen=True)
class _Heteronym:
    """`pattern` matches the word itself; neighbours are looked at, not taken."""

    pattern: re.Pattern[str]
    american: str
    british: str


def _row(pattern: str, american: str, british: str) -> _Heteronym:
    return _Heteronym(re.compile(pattern, re.IGNORECASE), american, british)


_METAL = (
    "pipes?|piping|paints?|poisoning|acid|crystal|pencils?|shot|bullets?|glass|batter(?:y|ies)|exposure|levels|ore|alloys?|"
    "weights?|solder|contamination"
)
_LOW = "guitars?|guitarist|players?|lines?|drums?|clef|notes?|voice|singers?|solos?|amps?|boost|tones?"

_ROWS = (
    _row(rf"\blead(?=[ -](?:{_METAL}|free)\b)", "lˈɛd", "lˈɛd"),
    _row(r"(?<=\bmade of )lead\b|(?<=\bheavy as )lead\b|(?<=\bmolten )lead\b", "lˈɛd", "lˈɛd"),
    _row(rf"\bbass(?= (?:{_LOW})\b)|(?<=\bdouble )bass\b|(?<=\bplays )bass\b|(?<=\bplay )bass\b", "bˈAs", "bˈAs"),
    _row(r"\bbow(?= ties?\b| and arrows?\b|ties?\b)|(?<=\bviolin )bow\b", "bˈO", "bˈQ"),
    _row(r"(?<=\b(?:take|took|gave|give) a )bow\b", "bˈW", "bˈW"),
    _row(
        r"\bminute(?= (?:details?|amounts?|differences?|particles?|quantit(?:y|ies)|traces?)\b)", "mInˈut", "mInjˈuːt"
    ),
    _row(r"\brefuse(?= (?:collections?|collectors?|bins?|disposal|trucks?)\b)", "ɹˈɛfjˌus", "ɹˈɛfjuːs"),
    _row(r"\bwound(?= (?:up|around|down|round)\b)", "wˈWnd", "wˈWnd"),
    _row(
        "|".join(rf"(?<=\b{owner} )resume\b" for owner in ("a", "my", "your", "his", "her", "our", "their")),
        "ɹˈɛzəmˌA",
        "ɹˈɛzjʊmˌA",
    ),
    _row(r"\bdove(?= (?:in|into|off|under|down)\b)", "dˈOv", "dˈQv"),
)


def heteronyms(text: str, language: str) -> list[Override]:
    """The pronunciations that the neighbours decide, in the order of the text. None outside English."""
    if not language.startswith("en"):
        return []
    found = [
        Override(match.start(), match.end(), phonemes=row.british if language == "en-gb" else row.american)
        for row in _ROWS
        for match in row.pattern.finditer(text)
    ]
    return sorted(found, key=lambda override: override.start)
