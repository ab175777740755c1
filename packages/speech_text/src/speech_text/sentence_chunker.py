"""Sentences out of text that is still being written.

The scanner remembers a place in the text, what is open there, and where the piece in hand began. At every mark that
matters it asks a pure function (`sentence_end.judge`, `list_markers`, `first_clause`, `run_on.cut`) that answers from
the text that is visible so far; an answer is given only when no later text can change it, so the pieces do not depend
on how the text was cut into deltas. The piece in hand is never longer than `max_chars`, so each question looks at a
bounded window and the cost is linear in the text.
"""

import re

from speech_text import enclosures, first_clause, list_markers, run_on
from speech_text.enclosures import Open
from speech_text.sentence_end import Ends, Goes, More, judge
from speech_text.sentence_marks import CLOSERS, NEWLINES, OPENERS, SPACES, SPEAKABLE, STOPS
from speech_text.sentence_rules import rules_for
from speech_text.sentence_tail import settle

_TURNS = "".join(sorted(CLOSERS | set(OPENERS)))
_MARKS = re.compile(f"[{re.escape(STOPS + NEWLINES + _TURNS)}]")
_MARKS_AND_CLAUSES = re.compile(f"[{re.escape(STOPS + NEWLINES + _TURNS + first_clause.MARKS)}]")

#: Consumed text is dropped from the buffer once there is this much of it, in characters.
_KEEP_CHARS = 4096


class IncrementalSentenceChunker:
    """Cuts streamed text into sentences, each returned as soon as no later text can change where it ends.

    Every piece is a verbatim slice of the input with its outer white space trimmed; pieces come in order and together
    hold every character that is not white space. Not safe to share between threads.

    Args:
        language: tag of the text's language (`en`, `pt-br`, …), for abbreviations.
        max_chars: longest piece in characters; a run-on is cut before it, at a clause, else at a word.
        first_clause: let the first clause (of at least four words) of a long first sentence out on its own.

    Raises:
        LanguageUnsupported: there are no rules for the language.
        ValueError: `max_chars` is below 16.
    """

    def __init__(self, language: str = "en", *, max_chars: int = 300, first_clause: bool = False) -> None:
        if max_chars < 16:
            raise ValueError(f"max_chars must be at least 16 characters, got {max_chars}")
        self._rules = rules_for(language)
        self._max_chars = max_chars
        self._wants_first_clause = first_clause
        self._forget()

    def feed(self, delta: str) -> list[str]:
        """Take the next part of the text, of any length; returns the pieces that are now sure, often none."""
        self._text += delta
        in_mid_sentence = self._start < self._at == len(self._text) - len(delta)
        if in_mid_sentence and len(self._text) - self._start <= self._max_chars and self._marks.search(delta) is None:
            self._at += len(delta)  # the common case: a token without a mark that could matter
            return []
        pieces = self._scan(final=False)
        if self._start >= _KEEP_CHARS or self._start == len(self._text):
            self._drop_consumed()
        return pieces

    def flush(self) -> list[str]:
        """The text is over: returns what is left, and makes the chunker ready for a new text."""
        pieces = self._scan(final=True)
        rest = self._text[self._start :].strip()
        if rest:
            pieces.append(rest)
        self._forget()
        return pieces

    def _forget(self) -> None:
        self._text = ""
        self._begin(0)
        self._is_first = self._wants_first_clause
        self._marks = _MARKS_AND_CLAUSES if self._is_first else _MARKS

    def _begin(self, start: int) -> None:
        """Begin a piece at `start`."""
        self._start = start
        self._at = start
        self._opened: Open = ()
        self._held: int | None = None

    def _drop_consumed(self) -> None:
        self._text = self._text[self._start :]
        self._at -= self._start
        if self._held is not None:
            self._held -= self._start
        self._start = 0

    def _scan(self, *, final: bool) -> list[str]:
        pieces: list[str] = []
        while True:
            if self._at == self._start:
                self._skip_blanks()
            limit = self._start + self._max_chars + 1
            full = len(self._text) >= limit
            cut = self._next_cut(limit if full else len(self._text), final=final and not full)
            if cut is None:
                if not full:
                    return pieces
                cut = run_on.cut(self._text, self._start, limit, self._held, self._rules.joiners)
            pieces.append(self._text[self._start : cut].rstrip())
            self._is_first = False
            self._marks = _MARKS
            self._begin(cut)

    def _skip_blanks(self) -> None:
        blanks = SPACES.match(self._text, self._start)
        if blanks is not None and blanks.end() > self._start:
            self._begin(blanks.end())

    def _next_cut(self, end: int, *, final: bool) -> int | None:
        """Go on through the marks before `end`; the place where the piece ends, or None if that is not seen yet."""
        text = self._text
        while True:
            found = self._marks.search(text, self._at, end)
            if found is None:
                self._at = end
                return None
            self._at = i = found.start()
            mark = text[i]
            if mark in STOPS:
                verdict = judge(text, self._start, i, end, final, self._opened, self._rules)
                if isinstance(verdict, More):
                    return None
                if isinstance(verdict, Ends):
                    return verdict.cut
                self._go_on(verdict)
            elif mark in NEWLINES:
                ended, cut = self._line_end(i, end, final=final)
                if ended:
                    return cut
            elif mark in first_clause.MARKS:
                verdict = first_clause.judge(text, self._start, i, end, final, self._opened)
                if isinstance(verdict, More):
                    return None
                if isinstance(verdict, Ends):
                    return verdict.cut
                self._go_on(verdict)
            else:
                ended, cut = self._turn(i, end, final=final)
                if ended:
                    return cut

    def _go_on(self, verdict: Goes) -> None:
        self._at = verdict.resume
        if verdict.cut is not None:
            self._held = verdict.cut

    def _line_end(self, i: int, end: int, *, final: bool) -> tuple[bool, int | None]:
        """At a newline: (whether to stop here, the cut or None while it cannot be told)."""
        if SPEAKABLE.search(self._text, self._start, i) is None or list_markers.is_marker(self._text, self._start, i):
            self._opened = ()
            self._at = i + 1
            return False, None
        settled = settle(self._text, i, end, final)
        return True, None if settled is None else settled.cut

    def _turn(self, i: int, end: int, *, final: bool) -> tuple[bool, int | None]:
        """At a quote or bracket: (whether to stop here, the cut or None while it cannot be told)."""
        text = self._text
        following = text[i + 1] if i + 1 < end else ""
        if not following and not final and enclosures.needs_next(text[i]):
            return True, None
        opened = enclosures.turn(text, self._start, i, following, self._opened)
        if text[i] == ")" and not opened and opened == self._opened:
            item = list_markers.next_item(text, self._start, i, i + 1, end, final)
            if item is not None:
                return True, item if item >= 0 else None
        self._opened = opened
        self._at = i + 1
        return False, None
