"""English pronunciation: misaki's lexicon and part-of-speech rules, espeak for words that no lexicon has.

Rests on misaki 0.9.4 (the symbols that Kokoro was trained on) and the spaCy model of the workspace's `en_core_web_sm`
package. misaki would download that model at run time, so its presence is checked first. Three things are done
around it: espeak's "(hi)" language flags are removed, scripts that espeak can only name ("Chinese letter") count as
unknown, and a token that misaki passes over in silence ("9" in "x9y") is said again character by character.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from speech_text.errors import LanguageUnsupported
from speech_text.spoken import Override, Spoken

_UNKNOWN = "❓"
_ALNUM = re.compile(r"[^\W_]")
#: Scripts (first words of Unicode character names) whose letters espeak reads in an English sentence.
_READABLE = ("LATIN", "GREEK", "CYRILLIC", "DEVANAGARI", "FULLWIDTH", "MODIFIER", "DIGIT", "SUPERSCRIPT", "SUBSCRIPT")


class EnglishPronouncer:
    """`Pronouncer` for American or British English. Loading takes about five seconds and 350 MB.

    Raises:
        LanguageUnsupported: the extra `g2p` is not installed.
    """

    def __init__(self, *, british: bool) -> None:
        try:
            import spacy
            from misaki import en, espeak
            from phonemizer.backend import EspeakBackend
        except ImportError as error:
            raise LanguageUnsupported(
                "English needs the extra 'g2p' (pip install 'speech-text[g2p]'), which is not installed"
            ) from error
        if not spacy.util.is_package("en_core_web_sm"):
            raise LanguageUnsupported(
                "English needs the package 'en-core-web-sm' (part of the extra 'g2p'), which is not installed"
            )
        self._fallback = espeak.EspeakFallback(british=british)
        self._fallback.backend = EspeakBackend(
            language="en-gb" if british else "en-us",
            preserve_punctuation=True,
            with_stress=True,
            tie="^",
            language_switch="remove-flags",
        )
        self._g2p = en.G2P(trf=False, british=british, fallback=self._say_unknown_word, unk=_UNKNOWN)

    def __call__(self, text: str, overrides: Sequence[Override] = ()) -> list[Spoken]:
        """See `Pronouncer`."""
        preprocessed = _features(text, overrides)
        _, tokens = self._g2p(text, preprocess=lambda _: preprocessed)
        spoken: list[Spoken] = []
        at = 0
        for token in tokens:
            end = at + len(token.text)
            spoken.append(self._token(text, at, end, token.phonemes, bool(token.whitespace)))
            at = end + len(token.whitespace)
        return spoken

    def _token(self, text: str, start: int, end: int, phonemes: str | None, spaced: bool) -> Spoken:
        while start < end and text[start].isspace():
            start += 1
        phonemes = phonemes or ""
        if not phonemes.strip() and _ALNUM.search(text, start, end):
            phonemes = self._spell(text[start:end])
        unknown = _UNKNOWN in phonemes
        return Spoken(start, end, phonemes.replace(_UNKNOWN, "").strip(), spaced, unknown)

    def _spell(self, word: str) -> str:
        """The word character by character: the last resort, so that nothing is silently left out."""
        phonemes, _ = self._g2p(" ".join(character for character in word if character.isalnum()), preprocess=None)
        return str(phonemes)

    def _say_unknown_word(self, token: Any) -> tuple[str | None, int | None]:
        """misaki's fallback: espeak, for scripts that it can read."""
        if not all(_is_readable(character) for character in token.text if character.isalnum()):
            return None, None
        phonemes, rating = self._fallback(token)
        return phonemes, rating


def _is_readable(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith(_READABLE)


def _features(text: str, overrides: Sequence[Override]) -> tuple[str, list[str], dict[int, str | int | float]]:
    """What misaki's own preprocessor makes of `[word](/phonemes/)`: the text, its tokens, and features by token."""
    tokens: list[str] = []
    features: dict[int, str | int | float] = {}
    done = 0
    for override in overrides:
        tokens.extend(text[done : override.start].split())
        words = text[override.start : override.end]
        if override.phonemes is not None:
            features[len(tokens)] = f"/{override.phonemes}"
        elif override.stress is not None:
            stress = override.stress
            features[len(tokens)] = int(stress) if stress == int(stress) else stress
        tokens.append(words)
        done = override.end
    tokens.extend(text[done:].split())
    return text, tokens, features
