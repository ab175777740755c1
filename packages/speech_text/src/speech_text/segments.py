"""Packing spoken tokens into segments that fit the model's window: pure functions.

Kokoro takes at most 510 phonemes at once. A sentence is one segment, so that the first can be heard while the next is
computed; a longer one is cut after a clause, else after a word, else between two characters. Nothing is left out.
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from speech_text.spoken import Spoken
from speech_text.traced import Traced

#: Marks that Kokoro hears as pauses or intonation, not as sounds.
PUNCTUATION = frozenset(';:,.!?—…"()“”«»¿¡ ')
_CLAUSE_ENDS = frozenset(";:,.!?—…)”")


@dataclass(frozen=True)
class Word:
    """A word of the text as sent (`text == sent[start_char:end_char]`) and where it is in the segment's phonemes."""

    text: str
    start_char: int
    end_char: int
    phoneme_start: int
    phoneme_end: int


@dataclass(frozen=True)
class Segment:
    """What is synthesised in one go.

    Attributes:
        phonemes: at most `max_phonemes` symbols of the vocabulary, punctuation and spaces included.
        words: in order; their ranges into `phonemes` do not overlap.
        start_char, end_char: range of the text as sent that this segment says, punctuation included.
        unsupported: words of it that could not be said, wholly or in part, as sent.
    """

    phonemes: str
    words: tuple[Word, ...]
    start_char: int
    end_char: int
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sound:
    """A token with its place in the text as sent."""

    phonemes: str
    spaced: bool
    start_char: int
    end_char: int
    unknown: bool

    @property
    def is_word(self) -> bool:
        """Whether there is more to hear than a pause."""
        return not PUNCTUATION.issuperset(self.phonemes)


def sounds(tokens: Sequence[Spoken], traced: Traced, vocabulary: Collection[str]) -> list[Sound]:
    """The tokens of one sentence with their origin, in symbols that the voice knows."""
    result: list[Sound] = []
    for token in tokens:
        start_char, end_char = traced.range(token.start, token.end)
        known = "".join(symbol for symbol in token.phonemes if symbol in vocabulary)
        unknown = token.unknown or known != token.phonemes
        result.append(Sound(" ".join(known.split()), token.spaced, start_char, end_char, unknown))
    return result


def pack(sentence: Sequence[Sound], source: str, max_phonemes: int) -> list[Segment]:
    """The segments of one sentence, in order. Sentences without a sound give none."""
    segments: list[Segment] = []
    for part in _fit(sentence, max_phonemes):
        segment = _segment(part, source)
        if segment.words or segment.unsupported:
            segments.append(segment)
    return segments


def _fit(sentence: Sequence[Sound], max_phonemes: int) -> list[list[Sound]]:
    parts: list[list[Sound]] = []
    part: list[Sound] = []
    length = 0  # phonemes of `part`, with the spaces between
    for sound in _divided(sentence, max_phonemes):
        size = len(sound.phonemes)
        if part and length + size > max_phonemes:
            cut = _cut(part)
            parts.append(part[:cut])
            part = part[cut:]
            length = sum(len(other.phonemes) + other.spaced for other in part)
        part.append(sound)
        length += size + sound.spaced
    if part:
        parts.append(part)
    return parts


def _cut(part: Sequence[Sound]) -> int:
    """How many sounds of a full part to let go: up to the last clause in its second half, else the last word."""
    for i in range(len(part) - 1, len(part) // 2 - 1, -1):
        if part[i].spaced and part[i].phonemes and part[i].phonemes[-1] in _CLAUSE_ENDS:
            return i + 1
    for i in range(len(part) - 1, 0, -1):
        if part[i].spaced:
            return i + 1
    return len(part)


def _divided(sentence: Sequence[Sound], max_phonemes: int) -> list[Sound]:
    """The sounds, those that would not fit on their own cut into pieces that do."""
    result: list[Sound] = []
    for sound in sentence:
        size = len(sound.phonemes)
        if size <= max_phonemes:
            result.append(sound)
            continue
        width = sound.end_char - sound.start_char
        for low in range(0, size, max_phonemes):
            high = min(size, low + max_phonemes)
            result.append(
                Sound(
                    sound.phonemes[low:high].strip(),
                    sound.spaced and high == size,
                    sound.start_char + width * low // size,
                    sound.start_char + width * high // size,
                    sound.unknown,
                )
            )
    return result


def _segment(part: Sequence[Sound], source: str) -> Segment:
    phonemes = ""
    words: list[Word] = []
    unsupported: dict[str, None] = {}
    spaced = False  # white space stands before the next sound
    glued = False  # the sound before belongs to a word that has not ended
    prefix: int | None = None  # where silent signs before a word began: the € of €45
    for sound in part:
        written = source[sound.start_char : sound.end_char]
        if sound.unknown:
            unsupported[written] = None
        start = len(phonemes)
        if sound.phonemes:
            start += 1 if spaced and phonemes else 0
            phonemes += (" " if spaced and phonemes else "") + sound.phonemes
            spaced = False
        if sound.is_word:
            start_char = sound.start_char if prefix is None else min(prefix, sound.start_char)
            if words and (glued or start_char < words[-1].end_char):
                start, start_char = words[-1].phoneme_start, words.pop().start_char
            words.append(_word(source, start_char, sound.end_char, start, len(phonemes)))
            glued, prefix = True, None
        elif sound.phonemes or not _is_sign(written):
            glued, prefix = False, None
        elif glued:
            last = words.pop()
            words.append(_word(source, last.start_char, sound.end_char, last.phoneme_start, last.phoneme_end))
        else:
            prefix = sound.start_char if prefix is None else prefix
        if sound.spaced:
            spaced, glued, prefix = True, False, None
    return Segment(
        phonemes,
        tuple(words),
        min((sound.start_char for sound in part), default=0),
        max((sound.end_char for sound in part), default=0),
        tuple(unsupported),
    )


def _is_sign(written: str) -> bool:
    """Whether silent text belongs to the word beside it: a currency sign, a number sign, a letter."""
    return any(character in "#%&@" or unicodedata.category(character)[0] in "SLN" for character in written)


def _word(source: str, start_char: int, end_char: int, phoneme_start: int, phoneme_end: int) -> Word:
    """The word, without the white space that a rewritten range may begin or end with."""
    while start_char < end_char and source[start_char].isspace():
        start_char += 1
    while start_char < end_char and source[end_char - 1].isspace():
        end_char -= 1
    return Word(source[start_char:end_char], start_char, end_char, phoneme_start, phoneme_end)
