"""Which scripts an engine can read: letters of others it would name ("Chinese letter") instead of saying them."""

import unicodedata

#: First words of the Unicode names of letters and digits that espeak reads in a European or Hindi sentence.
_READABLE = (
    "LATIN",
    "GREEK",
    "CYRILLIC",
    "DEVANAGARI",
    "FULLWIDTH",
    "MODIFIER",
    "DIGIT",
    "SUPERSCRIPT",
    "SUBSCRIPT",
    "FEMININE",
    "MASCULINE",
    "MICRO",
)


def is_readable(word: str) -> bool:
    """Whether espeak can say every letter and digit of the word."""
    return all(
        character.isascii() or unicodedata.name(character, "").startswith(_READABLE)
        for character in word
        if character.isalnum()
    )
