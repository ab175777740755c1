"""English pronunciation: misaki's lexicon and part-of-speech rules, espeak for words that no lexicon has.

Rests on misaki 0.9.4 (the symbols that Kokoro was trained on) and the spaCy model of the workspace's `en_core_web_sm`
package. misaki would download that model at run time, so its presence is checked first. Three things are done
around it: espeak's "(hi)" language flags are removed, scripts that espeak can only name ("Chinese letter") count as
unknown, and a token that misaki passes over in silence ("9" in "x9y") is said again character by character.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from speech_text.errors import LanguageUnsupported
from speech_text.scripts import is_readable
from speech_text.spoken import Override, Spoken

_UNKNOWN = "❓"
_HYPHENS = ("-", "‑", "–")
_ALNUM = re.compile(r"[^\W_]")


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
        shown, places, overrides = _join_letters(text, overrides)
        preprocessed = self._features(shown, overrides)
        _, tokens = self._g2p(shown, preprocess=lambda _: preprocessed)
        spoken: list[Spoken] = []
        at = 0
        for token in tokens:
            end = at + len(token.text)
            said = self._token(shown, at, end, token.phonemes, bool(token.whitespace))
            last = places[said.end - 1] + 1 if said.end > said.start else places[said.start]
            spoken.append(replace(said, start=places[said.start], end=last))
            at = end + len(token.whitespace)
        return _with_its_stop(text, spoken)

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

    def _features(
        self, text: str, overrides: Sequence[Override]
    ) -> tuple[str, list[str], dict[int, str | int | float]]:
        """What misaki's own preprocessor makes of `[word](/phonemes/)`: text, tokens, and features by token."""
        tokens: list[str] = []
        features: dict[int, str | int | float] = {}
        done = 0
        for override in overrides:
            tokens.extend(text[done : override.start].split())
            words = text[override.start : override.end]
            phonemes = override.phonemes
            if override.letters:
                phonemes, _ = self._g2p.lexicon.get_NNP(words)
            if phonemes is not None:
                features[len(tokens)] = f"/{phonemes}"
            elif override.stress is not None:
                stress = override.stress
                features[len(tokens)] = int(stress) if stress == int(stress) else stress
            tokens.append(words)
            done = override.end
        tokens.extend(text[done:].split())
        return text, tokens, features

    def _say_unknown_word(self, token: Any) -> tuple[str | None, int | None]:
        """misaki's fallback: espeak, for scripts that it can read."""
        if not is_readable(token.text):
            return None, None
        phonemes, rating = self._fallback(token)
        return phonemes, rating


def _join_letters(text: str, overrides: Sequence[Override]) -> tuple[str, list[int], list[Override]]:
    """The text with `p m` as `PM`, which spaCy takes for one word, and where each of its characters was before."""
    shown, places = "", list[int]()
    moved: list[Override] = []
    done = 0
    for override in overrides:
        shown += text[done : override.start]
        places += range(done, override.start)
        if shown.endswith(_HYPHENS):
            shown = shown[:-1] + " "  # spaCy takes `4-AWS` for one word, and misaki would drop the 4
        start = len(shown)
        inside = [i for i in range(override.start, override.end) if not override.letters or not text[i].isspace()]
        shown += "".join(text[i].upper() if override.letters else text[i] for i in inside)
        places += inside
        moved.append(replace(override, start=start, end=len(shown)))
        done = override.end
        if text[done : done + 1] in _HYPHENS and text[done + 1 : done + 2].isalnum():
            shown += " "
            places.append(done)
            done += 1
    return shown + text[done:], [*places, *range(done, len(text) + 1)], moved


def _with_its_stop(text: str, spoken: list[Spoken]) -> list[Spoken]:
    """spaCy keeps the stop of `I.` in the word and misaki then drops it: the sentence's last stop is put back."""
    if not spoken or not spoken[-1].phonemes or spoken[-1].end - spoken[-1].start < 2:
        return spoken
    last = spoken[-1]
    stop = text[last.end - 1]
    if stop not in ".!?" or last.phonemes[-1] in ".!?…":
        return spoken
    word = replace(last, end=last.end - 1, spaced=False)
    return [*spoken[:-1], word, Spoken(last.end - 1, last.end, stop, last.spaced)]
