"""The tone engine's front end: a character is a phoneme, so that it starts at once and needs no dictionary.

It keeps the promises of `speech_text.FrontEnd`: segments cut at sentence, then word ends, that fit the model's
window, with offsets into the text as sent. Nothing is dropped but white space between words and characters that have
no glyph.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from speech_text import LanguageUnsupported, NothingToSay, Segment, Word

from .engine import MAX_TOKENS
from .voices import LANGUAGE_OF_LETTER

_SENTENCE: Final = re.compile(r"\S.*?(?:[.!?]+(?=\s)|$)", re.DOTALL)
_VOCABULARY_SIZE: Final = 177  # as Kokoro's: ids 1 to 177


class Spelling(Mapping[str, int]):
    """Every character has a token id, so this vocabulary knows all of them."""

    def __getitem__(self, phoneme: str) -> int:
        return 1 + ord(phoneme) % _VOCABULARY_SIZE

    def __iter__(self) -> Iterator[str]:
        return (chr(code) for code in range(0x110000))

    def __len__(self) -> int:
        return 0x110000


class SpellingFrontEnd:
    """Speaks every language, by spelling it."""

    languages: tuple[str, ...] = tuple(LANGUAGE_OF_LETTER.values())

    def load(self, language: str) -> None:
        """Nothing to load."""

    def segments(self, text: str, language: str = "en-us", lexicon: Mapping[str, str] | None = None) -> list[Segment]:
        """One segment a sentence, more where it is longer. Raises `LanguageUnsupported` and `NothingToSay`."""
        primary = language.lower().partition("-")[0]
        if not any(known.partition("-")[0] == primary for known in self.languages):
            raise LanguageUnsupported(f"{language!r} is not one of {', '.join(self.languages)}")
        if not any(character.isalnum() for character in text):
            raise NothingToSay("there is nothing to pronounce in this text")
        return [
            segment
            for sentence in _SENTENCE.finditer(text)
            for segment in _fitting(text, sentence.start(), sentence.end(), lexicon or {})
        ]


def _fitting(text: str, start: int, end: int, lexicon: Mapping[str, str]) -> Iterator[Segment]:
    """The words of one sentence, gathered into segments of at most 510 phonemes."""
    words: list[Word] = []
    phonemes = ""
    for match in re.finditer(r"\S{1,509}", text[start:end]):
        spelled = "".join(filter(str.isprintable, lexicon.get(match[0], match[0])))
        spaced = f" {spelled}" if phonemes and spelled else spelled
        if len(phonemes) + len(spaced) > MAX_TOKENS:
            yield Segment(phonemes, tuple(words), words[0].start_char, words[-1].end_char, ())
            words, phonemes, spaced = [], "", spelled
        first, last = start + match.start(), start + match.end()
        phoneme_end = len(phonemes) + len(spaced)
        words.append(Word(match[0], first, last, phoneme_end - len(spelled), phoneme_end))
        phonemes += spaced
    if phonemes:
        yield Segment(phonemes, tuple(words), words[0].start_char, words[-1].end_char, ())
