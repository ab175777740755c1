"""Japanese pronunciation: misaki's cutlet (fugashi with the unidic-lite dictionary), the one Kokoro's pipeline uses.

`misaki.ja` is not imported: it needs pyopenjtalk, which downloads its dictionary at run time. Latin words in Japanese
text are said in English by espeak. Words are those of the tokeniser, their sounds matched as in `world`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from speech_text.errors import LanguageUnsupported
from speech_text.sharing import share, spoken_words
from speech_text.spoken import Override, Spoken, parts

_PART = re.compile(
    r"(?P<latin>[A-Za-z\u00c0-\u024f]+(?:['’\-][A-Za-z\u00c0-\u024f]+)*)|(?P<mark>[^\w\s々〆ヶー])|(?P<words>[^\WA-Za-z\u00c0-\u024f_]+(?:[.,]\d+)*)|\S"
)
MARKS = {
    "。": ".",
    "．": ".",
    "｡": ".",
    "、": ",",
    "，": ",",
    "､": ",",
    "！": "!",
    "？": "?",
    "：": ":",
    "；": ";",
    "（": "(",
    "）": ")",
    "「": "“",
    "」": "”",
    "『": "“",
    "』": "”",
    "《": "“",
    "》": "”",
    "【": "“",
    "】": "”",
    "“": "“",
    "”": "”",
    "…": "…",
    "—": "—",
    "〜": "—",
    "～": "—",
    "–": "—",
    ".": ".",
    ",": ",",
    "!": "!",
    "?": "?",
    ":": ":",
    ";": ";",
    "(": "(",
    ")": ")",
}


_DECIMAL = re.compile(r"(?<=\d)\.(?=\d)")
#: Particles whose sound is not their spelling's; cutlet knows them only after a word.
_PARTICLES = {"は": "βa", "へ": "e"}


class JapanesePronouncer:
    """`Pronouncer` for Japanese.

    Raises:
        LanguageUnsupported: the extra `ja` is not installed.
    """

    def __init__(self) -> None:
        try:
            from misaki.cutlet import Cutlet
            from misaki.espeak import EspeakG2P
        except ImportError as error:
            raise LanguageUnsupported(
                "Japanese needs the extra 'ja' (pip install 'speech-text[ja]'), which is not installed"
            ) from error
        self._cutlet: Any = Cutlet()
        self._english: Any = EspeakG2P("en-us")
        self._alone = lru_cache(maxsize=8192)(self._say)

    def __call__(self, text: str, overrides: Sequence[Override] = ()) -> list[Spoken]:
        """See `Pronouncer`."""
        spoken: list[Spoken] = []
        for found in parts(text, overrides, _PART):
            if isinstance(found, Spoken):
                spoken.append(found)
                continue
            if found["latin"]:
                phonemes, _ = self._english(found["latin"])
                spoken.append(Spoken(*found.span(), str(phonemes).strip(), True))
            elif found["words"] and not found["mark"]:
                spoken += self._words(found["words"], found.start())
            else:
                spoken.append(Spoken(*found.span(), MARKS.get(found[0], ""), True))
        return without_space_before_marks(spoken)

    def _words(self, words: str, start: int) -> list[Spoken]:
        tokens = self._tokens(words)
        sounds = self._say(words).split()
        if start > 0 and tokens[0] in _PARTICLES and sounds:
            sounds[0] = _PARTICLES[tokens[0]]
        shares = share([self._alone(token).split() for token in tokens], sounds)
        places, at = [], 0
        for token in tokens:
            places.append((start + at, start + at + len(token), True))
            at += len(token)
        unknown = [not said and not self._alone(token) for token, said in zip(tokens, shares, strict=True)]
        return spoken_words(places, shares, unknown)

    def _tokens(self, words: str) -> list[str]:
        """The tokeniser's words, with digits that stand together as one; together they are `words`."""
        tokens: list[str] = []
        for part in re.findall(r"\d+(?:[.,]\d+)*|\D+", words):
            tokens += [part] if part[0].isdigit() else [word.surface for word in self._cutlet.tagger(part)]
        return tokens if "".join(tokens) == words else [words]

    def _say(self, words: str) -> str:
        phonemes, _ = self._cutlet(_DECIMAL.sub("点", words))
        return str(phonemes).strip()


def without_space_before_marks(spoken: list[Spoken]) -> list[Spoken]:
    """Japanese writes no spaces; the voice wants them between words, not before a stop or inside brackets."""
    result = list(spoken)
    for i, (one, other) in enumerate(pairwise(spoken)):
        if (other.phonemes and other.phonemes in ".,!?:;)”…") or one.phonemes in ("(", "“"):
            result[i] = Spoken(one.start, one.end, one.phonemes, False, one.unknown)
    return result
