"""Which quotes and brackets are open at a place in a text: pure functions over a tuple of expected closing marks.

A sentence does not end inside quotes or brackets that are still open ("Stop. Right now." is one piece with its
quotes). Text from a model is not well-formed, so nothing here may hold on for ever: an opening mark must look like
one, a closing mark that nothing opened is ignored, and the caller drops the whole state at a line end or a cut.
"""

from speech_text.sentence_marks import CLOSERS, OPENERS

#: Expected closing marks, innermost last. Each item lists the characters that may close that level.
Open = tuple[str, ...]

#: Deeper nesting is not tracked: it is noise, not prose.
_MAX_DEPTH = 12

_EMOTICON_EYES = ":;="


def _opens(text: str, start: int, i: int, following: str) -> bool:
    """Whether the mark at `i`, which can open, looks as if it does. `following` is the next character or ''."""
    mark = text[i]
    before = text[i - 1] if i > start else ""
    if mark in '"‘':
        free = not before or before.isspace() or before in CLOSERS or before in OPENERS or before in "-–—*_~/¿¡"
        return free and (following.isalpha() if mark == "‘" else not following.isspace())
    if mark in "([{":
        return before not in _EMOTICON_EYES if before else not following.isspace()
    return True


def needs_next(mark: str) -> bool:
    """Whether `turn` must see the character after this mark."""
    return mark in '"‘’(['


def turn(text: str, start: int, i: int, following: str, opened: Open) -> Open:
    """The state after the quote or bracket at `text[i]`; `start` is where the piece begins.

    `following` is the character after it ('' at the end of the text).
    """
    mark = text[i]
    if mark == "’" and following.isalpha():
        return opened  # an apostrophe
    for depth in range(len(opened) - 1, -1, -1):
        if mark in opened[depth]:
            return opened[:depth]
    turned_round = mark == "»" and _starts_word(text, start, i)  # as in German and Danish
    expected = "«" if turned_round else OPENERS.get(mark, "")
    if not expected or len(opened) >= _MAX_DEPTH or not _opens(text, start, i, following):
        return opened
    return (*opened, expected)


def _starts_word(text: str, start: int, i: int) -> bool:
    return i == start or text[i - 1].isspace()
