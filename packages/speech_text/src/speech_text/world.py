"""Spanish, French, Hindi, Italian and Brazilian Portuguese pronunciation: espeak, in misaki's symbols.

Rests on misaki 0.9.4's `EspeakG2P`, which maps espeak's ties and affricates to the symbols Kokoro was trained on. It
answers with one string for a text; word times need to know which word said what. So each stretch between punctuation
marks is pronounced as a whole (liaison and stress are the sentence's), and its sounds are matched to its words, by
pronouncing those alone where their numbers differ ("dix-huit" may be one or two, "45" three).
"""

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from speech_text.errors import LanguageUnsupported
from speech_text.scripts import is_readable
from speech_text.sharing import share, spoken_words
from speech_text.spoken import Override, Spoken

#: espeak's names of the languages.
ESPEAK_NAMES = {"es": "es", "fr": "fr-fr", "hi": "hi", "it": "it", "pt-br": "pt-br"}

#: A number as it is written in these languages, with marks for thousands and decimals.
_NUMBER = r"\d+(?:[.,]\d+)*(?: \d{3}(?!\d))*(?:,\d+)?"
_MARKS_OF_LETTERS = "\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0962\u0963\u200c\u200d"
_TOKEN = re.compile(rf"{_NUMBER}|[^\W\d_](?:[^\W\d_]|[{_MARKS_OF_LETTERS}'’\-])*|\S")
#: Punctuation as the voice knows it; quotes of one stroke are silent.
_MARKS = {"«": "“", "»": "”", "„": "“", "–": "—", "।": ".", "॥": ".", "[": "(", "]": ")", "‘": "", "’": "", "'": ""}
_PLAIN_MARKS = frozenset(';:,.!?—…"()“”')
#: Signs that espeak reads as words; others (dashes, bars, arrows) are decoration and silent.
_SPOKEN_SIGNS = frozenset("&%+=@#$€£₹°")


class WorldPronouncer:
    """`Pronouncer` for one of `ESPEAK_NAMES`. Stress changes (`[word](+1)`) have no effect here.

    Raises:
        LanguageUnsupported: the extra `g2p` is not installed.
    """

    def __init__(self, language: str) -> None:
        try:
            from misaki.espeak import EspeakG2P

            from speech_text.numerals import in_words
        except ImportError as error:
            raise LanguageUnsupported(
                f"{language!r} needs the extra 'g2p' (pip install 'speech-text[g2p]'), which is not installed"
            ) from error
        self._in_words = partial(in_words, language=language)
        self._g2p: Any = EspeakG2P(ESPEAK_NAMES[language])
        self._alone = lru_cache(maxsize=8192)(self._say)

    def __call__(self, text: str, overrides: Sequence[Override] = ()) -> list[Spoken]:
        """See `Pronouncer`."""
        given = {override.start: override for override in overrides}
        spoken: list[Spoken] = []
        clause: list[tuple[int, int, str]] = []
        at = 0
        while at < len(text):
            override = given.get(at)
            if override is not None and override.phonemes is not None:
                spoken += [
                    *self._clause(text, clause),
                    Spoken(at, override.end, override.phonemes, _spaced(text, override.end)),
                ]
                clause = []
                at = override.end
                continue
            found = _TOKEN.match(text, at)
            if found is None:
                at += 1
                continue
            start, end = at, min([found.end(), *(place for place in given if at < place < found.end())])
            at = end
            if text[start].isdigit() and text[start].isascii():
                clause.append((start, end, self._in_words(text[start:end].strip())))
            elif text[start].isalnum():
                clause.append((start, end, text[start:end].replace("’", "'")))
            else:
                spoken += [*self._clause(text, clause), self._mark(text, start, end)]
                clause = []
        return [*spoken, *self._clause(text, clause)]

    def _clause(self, text: str, words: list[tuple[int, int, str]]) -> list[Spoken]:
        """Words without punctuation between them, pronounced as one."""
        readable = [is_readable(word) for _, _, word in words]
        said = [word for (_, _, word), can in zip(words, readable, strict=True) if can]
        sounds = self._say(" ".join(said)).split() if said else []
        if len(sounds) == len(said) and not any(" " in word or "-" in word for word in said):
            shares = [[sound] for sound in sounds]
        else:
            shares = share([self._alone(word).split() for word in said], sounds)
        by_word = iter(shares)
        return spoken_words(
            [(start, end, _spaced(text, end)) for start, end, _ in words],
            [next(by_word) if can else [] for can in readable],
            [not can for can in readable],
        )

    def _mark(self, text: str, start: int, end: int) -> Spoken:
        mark = _MARKS.get(text[start:end], text[start:end])
        if mark in _SPOKEN_SIGNS:
            mark = self._alone(mark)
        elif mark not in _PLAIN_MARKS:
            mark = ""
        return Spoken(start, end, mark, _spaced(text, end))

    def _say(self, words: str) -> str:
        phonemes, _ = self._g2p(words)
        return str(phonemes).strip()


def _spaced(text: str, end: int) -> bool:
    return end < len(text) and text[end].isspace()
