"""Whether a sentence ends at a stop: one pure function over the text that is visible so far.

`judge` answers for a prefix of the text. Its answer is final: whatever is appended later, a longer prefix gets the
same one, which is what makes the pieces independent of how the text was cut into deltas. Where the visible text does
not suffice it says `More`, and it needs at most the next word (for a stop without a space after it, one character
beyond).
"""

import re
from dataclasses import dataclass

from speech_text import list_markers
from speech_text.enclosures import Open
from speech_text.sentence_marks import (
    CLOSERS,
    CONTINUING,
    MARKUP,
    OPENERS,
    QUOTES,
    SPACELESS_STOPS,
    SPEAKABLE,
    STOPS,
    WORD,
    is_caseless_letter,
)
from speech_text.sentence_rules import LanguageRules
from speech_text.sentence_tail import close, past_stops, settle
from speech_text.stop_kinds import Kind, kind_of, token_before


@dataclass(frozen=True)
class More:
    """Not to be told yet: later text can change the answer."""


@dataclass(frozen=True)
class Goes:
    """The sentence goes on; look again from `resume`. `cut` is where a run-on may be cut instead, if anywhere."""

    resume: int
    cut: int | None = None


@dataclass(frozen=True)
class Ends:
    """The sentence is `text[start:cut]`."""

    cut: int


Verdict = More | Goes | Ends
MORE = More()

#: A word longer than this is judged by what is seen of it.
_LONGEST_WORD = 32

_LINKISH = re.compile(r"://|^www\.|[@/\\]")
_GLUED_BEFORE = re.compile(r"(?:[^\W\d_]+['’\-])*[^\W\d_]*[^\W\d_A-ZÀ-Þ]|\d+")
_CONSONANTS_ONLY = re.compile(r"[bcdfghjklmnpqrstvwxz]{2,5}", re.IGNORECASE)
#: What follows a dot in names of sites and files, so that `Amazon.Com` and `Node.Js` stay whole.
_SUFFIX = re.compile(
    "com|org|net|edu|gov|io|ai|co|uk|de|fr|es|it|js|ts|py|md|txt|pdf|html?|csv|json|xml|exe|zip", re.IGNORECASE
)


def judge(text: str, start: int, stop: int, end: int, final: bool, opened: Open, rules: LanguageRules) -> Verdict:
    """Whether the sentence that began at `start` ends at the run of stops that begins at `stop`.

    Args:
        text: only `text[start:end]` is looked at.
        final: no more text will come, so what is visible is all there is.
        opened: quotes and brackets open at `stop`.
    """
    after_stops = past_stops(text, stop, end)
    if after_stops == end and not final:
        return MORE
    item = list_markers.next_item(text, start, stop, after_stops, end, final)
    if item is not None and not opened:
        return MORE if item < 0 else Ends(item)
    closed = close(text, start, after_stops, end, final, opened)
    if closed is None:
        return MORE
    cut, still_open = closed
    if still_open:
        return Goes(after_stops, cut)
    if not SPEAKABLE.search(text, start, cut):
        return Goes(after_stops)
    settled = settle(text, cut, end, final)
    if settled is None:
        return MORE
    if settled.at_end:
        return Ends(settled.cut)
    if list_markers.is_marker(text, start, after_stops):
        return Goes(after_stops)
    if settled.line_ended:
        return Ends(settled.cut)
    closing = text[after_stops:cut]
    if settled.spaced:
        goes_on = _goes_on_after_space(text, start, stop, after_stops, closing, settled.following, end, final, rules)
    else:
        goes_on = _goes_on_unspaced(text, start, stop, after_stops, closing, settled.following, end, final, rules)
    if goes_on is None:
        return MORE
    return Goes(after_stops) if goes_on else Ends(settled.cut)


def _goes_on_after_space(
    text: str,
    start: int,
    stop: int,
    after_stops: int,
    closing: str,
    i: int,
    end: int,
    final: bool,
    rules: LanguageRules,
) -> bool | None:
    """Whether the sentence goes on with the word at `i`, which white space (or an emoji) parts from the stop."""
    kind = kind_of(text, start, stop, after_stops, rules)
    following = text[i]
    if kind is Kind.ATTACHED:
        return True
    if following in CONTINUING or (following in STOPS and text[stop:after_stops] == "."):
        return True
    if kind is Kind.ELLIPSIS and closing[:1] in (")", "]") and text[max(start, stop - 1) : stop] in ("(", "["):
        return True  # an omission mark: [...]
    quoted = any(mark in CLOSERS or mark in QUOTES for mark in closing)
    if kind is Kind.PLAIN and not following.isalpha():
        return False
    i = _past_openers(text, i, end)
    if i == end:
        return None if not final else False
    following = text[i]
    if following.isdigit():
        return kind not in (Kind.PLAIN, Kind.ELLIPSIS)
    if not following.isalpha():
        return kind not in (Kind.PLAIN, Kind.NUMBERED, Kind.ELLIPSIS)
    if rules.particles and following in rules.particles and quoted:
        return True
    if is_caseless_letter(following):
        return kind in (Kind.NAMED, Kind.INITIAL)
    if following.islower():
        return _goes_on_small(text, start, stop, after_stops, quoted, kind, i, end, final, rules)
    return _goes_on_capital(text, start, stop, kind, i, end, final, rules)


def _past_openers(text: str, i: int, end: int) -> int:
    while i < end and (text[i] in OPENERS or text[i] in MARKUP or text[i] in "'¿¡"):
        i += 1
    return i


def _goes_on_small(
    text: str,
    start: int,
    stop: int,
    after_stops: int,
    quoted: bool,
    kind: Kind,
    i: int,
    end: int,
    final: bool,
    rules: LanguageRules,
) -> bool | None:
    """Before a small letter. Some people and models write without capitals, so a plain stop still ends."""
    if quoted or kind not in (Kind.PLAIN, Kind.NUMBERED):
        return True
    _, token = token_before(text, start, stop)
    if text[stop] == "." and _CONSONANTS_ONLY.fullmatch(token) is not None:
        return True  # an abbreviation that no list has: bldg.
    return text[stop] == "!" and token.lower() in rules.exclaimed


def _goes_on_capital(
    text: str, start: int, stop: int, kind: Kind, i: int, end: int, final: bool, rules: LanguageRules
) -> bool | None:
    """Before a capital letter: the next word decides where the stop alone does not."""
    if kind in (Kind.PLAIN, Kind.UPPER, Kind.NUMBERED):
        return False
    name, past, whole = _next_word(text, i, end, final)
    if kind is Kind.ELLIPSIS:
        spaced_out = text[max(start, stop - 1) : stop].isspace()
        if not spaced_out or text[i] != "I":
            return False
        return None if not whole else name == "i" or name.startswith("i'")
    if kind is Kind.CLOCK:
        first = WORD.match(text, start, stop)
        if first is not None and first.group().lower() in rules.leading and text.count(" ", start, stop) <= 3:
            return True
        if not whole:
            return None if any(other.startswith(name) for other in rules.not_after_clock) else False
        return name in rules.not_after_clock
    if not whole:
        return None
    dotted_letter = len(name) == 1 and past < end and text[past] == "."
    if kind is Kind.LETTER:
        return dotted_letter
    return dotted_letter or rules.starters.isdisjoint((name, name.partition("'")[0]))


def _next_word(text: str, i: int, end: int, final: bool) -> tuple[str, int, bool]:
    """The word at `i` in small letters, where it ends, and whether all of it is visible."""
    limit = min(end, i + _LONGEST_WORD)
    word = WORD.match(text, i, limit)
    past = limit if word is None else word.end()
    whole = final or past - i >= _LONGEST_WORD or past < end
    if whole and not final and past + 1 == end and text[past] in "'’":
        whole = False  # don' … t
    return text[i:past].replace("’", "'").lower(), past, whole


def _goes_on_unspaced(
    text: str,
    start: int,
    stop: int,
    after_stops: int,
    closing: str,
    i: int,
    end: int,
    final: bool,
    rules: LanguageRules,
) -> bool | None:
    """Whether the sentence goes on with the character at `i`, which directly follows the stop."""
    following = text[i]
    last = text[after_stops - 1]
    if last in SPACELESS_STOPS:
        if following in CONTINUING:
            return True
        return bool(closing) and following in rules.particles
    index, token = token_before(text, start, stop)
    if _LINKISH.search(token):
        return True
    if following in "¿¡「『“„":
        return False
    if not following.isalpha():
        return True
    if is_caseless_letter(following):
        if kind_of(text, start, stop, after_stops, rules) is Kind.ELLIPSIS:
            return True
        return not SPEAKABLE.search(text, index, stop) or kind_of(text, start, stop, after_stops, rules) in (
            Kind.ATTACHED,
            Kind.NAMED,
        )
    if not following.isupper():
        return True
    if last != ".":
        return False
    return _goes_on_glued(text, start, stop, after_stops, token, i, end, final, rules)


def _goes_on_glued(
    text: str, start: int, stop: int, after_stops: int, token: str, i: int, end: int, final: bool, rules: LanguageRules
) -> bool | None:
    """`done.Next one`: a missing space, if both sides are plain words and it is no name of a site, file or method."""
    if _GLUED_BEFORE.fullmatch(token) is None:
        return True
    if kind_of(text, start, stop, after_stops, rules) not in (Kind.PLAIN, Kind.ELLIPSIS, Kind.UPPER):
        return True
    past = i
    limit = min(end, i + _LONGEST_WORD)
    while past < limit and text[past].isalpha():
        past += 1
    name = text[i:past]
    if name[1:] and not name[1:].islower():
        return True
    if past == end and not final:
        return None
    if _SUFFIX.fullmatch(name):
        return True
    beyond = text[past : past + 1] if past < end else ""
    if not beyond or beyond.isspace() or beyond in ",;:!?…\"'’”)—–-":
        return False
    if beyond == ".":
        if len(name) == 1:
            return True  # Ph.D.
        if past + 1 == end and not final:
            return None
        return past + 1 < end and not text[past + 1].isspace()
    return True
