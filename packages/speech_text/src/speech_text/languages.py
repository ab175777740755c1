"""Language tags: which are known, and what a caller's spelling of one means.

Sentences are cut by primary language (`en`); pronunciation needs the variety (`en-us`, `en-gb`). The tags and the
voice-name letters are those of Kokoro-82M (a American, b British, e Spanish, f French, h Hindi, i Italian,
j Japanese, p Brazilian Portuguese, z Mandarin).
"""

from speech_text.errors import LanguageUnsupported

#: Primary subtags whose sentences can be cut.
SENTENCE_LANGUAGES = ("en", "es", "fr", "de", "it", "pt", "hi", "ja", "zh")

#: Tags whose text can be turned into phonemes, in the order they are listed to users.
SPOKEN_LANGUAGES = ("en-us", "en-gb", "es", "fr", "hi", "it", "pt-br", "ja", "zh")

_SPOKEN_BY_PRIMARY = {
    "en": "en-us",
    "es": "es",
    "fr": "fr",
    "hi": "hi",
    "it": "it",
    "pt": "pt-br",
    "ja": "ja",
    "zh": "zh",
}
_OTHER_NAMES = {"cmn": "zh"}  # ISO 639-3 names Mandarin, people write Chinese
_BRITISH = frozenset({"en-gb", "en-uk", "en-ie", "en-au", "en-nz", "en-za", "en-in"})
_VOICE_LETTERS = {
    "a": "en-us",
    "b": "en-gb",
    "e": "es",
    "f": "fr",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt-br",
    "z": "zh",
}


def languages() -> tuple[str, ...]:
    """Tags that `FrontEnd.segments` knows, whether or not the extra each needs is installed."""
    return SPOKEN_LANGUAGES


def primary(language: str) -> str:
    """The primary subtag of a tag (`pt_BR` → `pt`), by its usual name (`cmn` → `zh`)."""
    tag = language.replace("_", "-").partition("-")[0].lower()
    return _OTHER_NAMES.get(tag, tag)


def sentence_language(language: str) -> str:
    """The tag under which sentences of this language are cut.

    Raises:
        LanguageUnsupported: there are no rules for it.
    """
    tag = primary(language)
    if tag not in SENTENCE_LANGUAGES:
        raise LanguageUnsupported(
            f"sentences can be cut in {', '.join(SENTENCE_LANGUAGES)}; there are no rules for {language[:35]!r}"
        )
    return tag


def spoken_language(language: str) -> str:
    """The tag under which this language is pronounced (`en` → `en-us`, `en_AU` → `en-gb`, `pt` → `pt-br`).

    Raises:
        LanguageUnsupported: no voice speaks it.
    """
    tag = language.replace("_", "-").lower()
    if tag in _BRITISH:
        return "en-gb"
    spoken = _SPOKEN_BY_PRIMARY.get(primary(tag))
    if spoken is None:
        raise LanguageUnsupported(f"language {language[:35]!r} is not one of {', '.join(SPOKEN_LANGUAGES)}")
    return spoken


def voice_language(voice: str) -> str:
    """The language that a Kokoro voice speaks, from the first letter of its name (`bf_emma` → `en-gb`).

    Raises:
        LanguageUnsupported: the name does not begin with one of Kokoro's letters.
    """
    spoken = _VOICE_LETTERS.get(voice[:1]) if voice[2:3] == "_" else None
    if spoken is None:
        raise LanguageUnsupported(
            f"voice {voice[:35]!r} does not name its language; expected a name such as 'af_heart' or 'ff_siwis'"
        )
    return spoken
