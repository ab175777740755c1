"""What stands before a stop: an ordinary word, a title, an initialism, an initial …

Pure functions over the text before the stop and the language's tables. What follows decides in `sentence_end`.
"""

import re
from enum import Enum, auto

from speech_text.sentence_marks import MARKUP, OPENERS, is_caseless_letter
from speech_text.sentence_rules import LanguageRules

#: How far back a token is looked for before a stop.
_LONGEST_TOKEN = 48
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}[.\-]+){1,6}[^\W\d_]{1,2}")
#: `3.` as in `am 3. Mai`, and `3.5.` as in `am 3.5. um zehn`.
_ORDINAL = re.compile(r"\d{1,2}(?:\.\d{1,2})?")
_EXCLAMATIONS = frozenset("!?")


class Kind(Enum):
    """What stands before the stop, as far as it matters for what comes after."""

    PLAIN = auto()  # an ordinary end
    ATTACHED = auto()  # Dr. e.g.
    NAMED = auto()  # Inc. U.S.
    UPPER = auto()  # etc.
    NUMBERED = auto()  # No.
    CLOCK = auto()  # a.m.
    INITIAL = auto()  # J.
    LETTER = auto()  # p. as in p. m.
    ORDINAL = auto()  # 3. in German
    ELLIPSIS = auto()


def token_before(text: str, start: int, stop: int) -> tuple[int, str]:
    """The run of non-space characters that ends at `stop`, without the marks that open it: (index, token)."""
    i = stop
    floor = max(start, stop - _LONGEST_TOKEN)
    while i > floor and not text[i - 1].isspace():
        i -= 1
    while i < stop and (text[i] in OPENERS or text[i] in MARKUP or text[i] in "'’¿¡–—•"):
        i += 1
    return i, text[i:stop]


def kind_of(text: str, start: int, stop: int, after_stops: int, rules: LanguageRules) -> Kind:
    """What kind of end a single stop (or an ellipsis) could be."""
    mark = text[stop:after_stops]
    if mark == "…" or (len(mark) > 1 and not _EXCLAMATIONS & set(mark)):
        return Kind.ELLIPSIS
    if mark != ".":
        return Kind.PLAIN
    index, token = token_before(text, start, stop)
    if not token:
        return Kind.ELLIPSIS if text[max(start, stop - 2) : stop].strip() in (".", "…") else Kind.PLAIN
    if len(token) == 1 and token.isalpha():
        return _letter_kind(text, start, index, token, rules)
    key = token.lower().replace(".", "").replace("-", "").replace("’", "'")
    dotted = _DOTTED.fullmatch(token) is not None
    if not dotted and len(token) > 2 and token.isupper():
        return Kind.PLAIN  # EST is no abbreviation of "established"
    for group, kind in (
        (rules.clock if dotted else (), Kind.CLOCK),
        (rules.attached, Kind.ATTACHED),
        (rules.named, Kind.NAMED),
        (rules.upper, Kind.UPPER),
        (rules.numbered, Kind.NUMBERED),
    ):
        if key in group:
            return kind
    if key in rules.clock and text[max(start, index - 2) : index].strip().isdigit():
        return Kind.CLOCK
    if dotted:
        return Kind.NAMED
    if rules.ordinal_stops and _ORDINAL.fullmatch(token):
        return Kind.ORDINAL
    return Kind.PLAIN


def _letter_kind(text: str, start: int, index: int, letter: str, rules: LanguageRules) -> Kind:
    """One letter before a stop: an initial, the end of `p. m.`, or a word of its own."""
    before_end = index
    while before_end > start and text[before_end - 1].isspace():
        before_end -= 1
    _, before = token_before(text, start, before_end)
    if letter in "mM" and "m" + letter.lower() and before[:-1].lower() in ("a", "p") and before.endswith("."):
        return Kind.CLOCK
    if letter.isupper():
        if letter.lower() in rules.attached:
            return Kind.ATTACHED
        if letter == "I" and rules.language == "en" and before and before.islower() and before.isalpha():
            return Kind.PLAIN
        return Kind.INITIAL
    if is_caseless_letter(letter):
        return Kind.NAMED if letter in rules.named else Kind.PLAIN
    return Kind.LETTER
