"""What a voice's name says: its first letter is the language it was made for, its second the kind of voice.

The letters are the language codes of the kokoro package; names such as `af_heart` follow them throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LANGUAGES: Final = {
    "a": ("en-US", "American English"),
    "b": ("en-GB", "British English"),
    "e": ("es", "Spanish"),
    "f": ("fr-FR", "French"),
    "h": ("hi", "Hindi"),
    "i": ("it", "Italian"),
    "j": ("ja", "Japanese"),
    "p": ("pt-BR", "Brazilian Portuguese"),
    "z": ("zh", "Mandarin Chinese"),
}
"""Kokoro's letter to (BCP 47 tag, English name)."""

_KINDS: Final = {"f": "female", "m": "male"}


@dataclass(frozen=True, slots=True)
class VoiceTraits:
    """Tag and name of the language, and `female`, `male` or `other`."""

    tag: str
    language: str
    kind: str


def voice_traits(name: str) -> VoiceTraits:
    """What the name says; `und` (undetermined) for a name that does not follow the convention."""
    prefix, underscore, rest = name.partition("_")
    if len(prefix) == 2 and underscore and rest and prefix[0] in LANGUAGES:
        tag, language = LANGUAGES[prefix[0]]
        return VoiceTraits(tag, language, _KINDS.get(prefix[1], "other"))
    return VoiceTraits("und", "unknown", "other")
