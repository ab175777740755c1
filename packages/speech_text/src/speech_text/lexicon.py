"""A caller's own pronunciations: word → phonemes in Kokoro's alphabet, or word → respelling.

A lexicon belongs to a request or a session: `{"Siobhan": "ʃɪvˈɔn"}`. A value that begins with `=` is a respelling in
ordinary letters: `{"Siobhan": "=Shivawn"}`. Entries match whole words; one spelled in small
letters matches any capitalisation, one with capitals only itself.
"""

import re
from collections.abc import Collection, Mapping

from speech_text.errors import LexiconInvalid
from speech_text.spoken import Override

#: What a respelling begins with.
RESPELLED = "="
#: Bounds that keep a request's lexicon from costing more than its text.
MAX_ENTRIES = 1000
MAX_CHARS = 100


def check(lexicon: Mapping[str, str], vocabulary: Collection[str]) -> None:
    """Refuse what could not be said.

    Raises:
        LexiconInvalid: an empty word, no phonemes, a symbol outside the vocabulary, or too many or too long entries.
    """
    if len(lexicon) > MAX_ENTRIES:
        raise LexiconInvalid(f"a lexicon has at most {MAX_ENTRIES} entries, got {len(lexicon)}")
    for word, phonemes in lexicon.items():
        if not word.strip() or not phonemes.strip():
            raise LexiconInvalid(f"a lexicon entry needs a word and its phonemes, got {word[:35]!r}: {phonemes[:35]!r}")
        if len(word) > MAX_CHARS or len(phonemes) > MAX_CHARS:
            raise LexiconInvalid(f"a lexicon entry has at most {MAX_CHARS} characters; {word[:35]!r} has more")
        if phonemes.startswith(RESPELLED):
            if not any(character.isalnum() for character in phonemes):
                raise LexiconInvalid(f"the respelling of {word[:35]!r} has no letters, got {phonemes[:35]!r}")
            continue
        strange = sorted({symbol for symbol in phonemes if symbol not in vocabulary})
        if strange:
            raise LexiconInvalid(
                f"the phonemes of {word[:35]!r} hold {''.join(strange)[:35]!r}, which the voice does not know"
            )


def find(lexicon: Mapping[str, str], text: str) -> list[Override]:
    """Where the lexicon's words stand in the text, longest first where two could."""
    if not lexicon:
        return []
    by_spelling = {" ".join(word.split()): phonemes.strip() for word, phonemes in lexicon.items()}
    choices = "|".join(re.escape(word) for word in sorted(by_spelling, key=len, reverse=True))
    small = {word: phonemes for word, phonemes in by_spelling.items() if word == word.lower()}
    result: list[Override] = []
    for found in re.finditer(rf"(?<!\w)(?:{choices})(?!\w)", text, re.IGNORECASE):
        phonemes = by_spelling.get(found.group()) or small.get(found.group().lower())
        if phonemes is not None:
            result.append(Override(found.start(), found.end(), phonemes=phonemes))
    return result
