"""Whether the first clause of a long first sentence may be spoken before the sentence is complete.

The first audio of a long sentence can be had in half the time if its first clause goes out alone. The seam is heard,
so the clause must be one that stands (at least four words, or ten characters without spaces) and more words must
follow it: `Yes, of course.` and `I can do that, sure.` stay whole.
"""

import re

from speech_text.enclosures import Open
from speech_text.sentence_end import MORE, Ends, Goes, Verdict
from speech_text.sentence_marks import STOPS

MARKS = ",;:—–，、；："
_CJK_MARKS = "，、；："
_WORDS_BEFORE = 4
_WORDS_AFTER = 3
_CJK_CHARS = 10
_STOP = re.compile(rf"[{re.escape(STOPS)}\n\r]")
_WORD = re.compile(r"\S*\w\S*")


def judge(text: str, start: int, mark: int, end: int, final: bool, opened: Open) -> Verdict:
    """The verdict at a clause mark of the first sentence, as `sentence_end.judge` gives it at a stop."""
    goes = Goes(mark + 1)
    if opened:
        return goes
    past = mark + 1
    if text[mark] in _CJK_MARKS:
        if mark - start < _CJK_CHARS:
            return goes
        if end - past < _CJK_CHARS and _STOP.search(text, past, end) is None and not final:
            return MORE
        return Ends(past) if end - past >= _CJK_CHARS and _STOP.search(text, past, past + _CJK_CHARS) is None else goes
    if past == end and not final:
        return MORE
    if past == end or not text[past].isspace():
        return goes
    if len(_WORD.findall(text, start, mark)) < _WORDS_BEFORE:
        return goes
    stop = _STOP.search(text, past, end)
    words_end = end if stop is None else stop.start()
    words_after = list(_WORD.finditer(text, past, words_end))
    if len(words_after) >= _WORDS_AFTER:
        return Ends(past)
    return MORE if stop is None and not final else goes
