"""Mandarin pronunciation: jieba's words, pypinyin's readings, misaki's IPA with Kokoro's tone arrows.

Does what misaki 0.9.4's `ZHG2P` does for Kokoro v1.0, word by word, so that each word keeps its place in the text.
Numbers become Chinese numerals first (cn2an). Latin words are said in English by espeak.
"""

import importlib
import logging
import re
from collections.abc import Sequence
from typing import Any

from speech_text.errors import LanguageUnsupported
from speech_text.japanese import MARKS, without_space_before_marks
from speech_text.spoken import Override, Spoken, parts

_PART = re.compile(
    r"(?P<latin>[A-Za-z\u00c0-\u024f]+(?:['’\-][A-Za-z\u00c0-\u024f]+)*)"
    r"|(?P<number>-?\d+(?:[.,]\d+)*(?:[%℃年]|月|日)?)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)|\S"
)


class MandarinPronouncer:
    """`Pronouncer` for Mandarin Chinese.

    Raises:
        LanguageUnsupported: the extra `zh` is not installed.
    """

    def __init__(self) -> None:
        try:
            cn2an: Any = importlib.import_module("cn2an")
            jieba: Any = importlib.import_module("jieba")
            from misaki.espeak import EspeakG2P
            from misaki.zh import ZHG2P
        except ImportError as error:
            raise LanguageUnsupported(
                "Chinese needs the extra 'zh' (pip install 'speech-text[zh]'), which is not installed"
            ) from error
        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
        self._cut: Any = jieba.lcut
        self._numerals: Any = cn2an.transform
        self._ipa: Any = ZHG2P.word2ipa
        self._english: Any = EspeakG2P("en-us")

    def __call__(self, text: str, overrides: Sequence[Override] = ()) -> list[Spoken]:
        """See `Pronouncer`."""
        spoken: list[Spoken] = []
        for found in parts(text, overrides, _PART):
            if isinstance(found, Spoken):
                spoken.append(found)
                continue
            start, end = found.span()
            if found["latin"]:
                phonemes, _ = self._english(found["latin"])
                spoken.append(Spoken(start, end, str(phonemes).strip(), True))
            elif found["number"]:
                said = " ".join(
                    self._say(word) for word in self._cut(self._numerals(found[0].replace(",", ""), "an2cn"))
                )
                spoken.append(Spoken(start, end, said, True))
            elif found["han"]:
                for word in self._cut(found["han"]):
                    said = self._say(word)
                    spoken.append(Spoken(start, start + len(word), said, True, unknown=not said))
                    start += len(word)
            else:
                mark = MARKS.get(found[0], "")
                spoken.append(Spoken(start, end, mark, True, unknown=not mark and found[0].isalnum()))
        return without_space_before_marks(spoken)

    def _say(self, word: str) -> str:
        return str(self._ipa(word)).replace("\u032f", "").strip()
