"""What is spoken to calibrate: 40 sentences a language, written for this, with their phonemes.

They are read in each voice's own language, so that its statistics are those of the sounds it is asked for. Their
lengths go from four words to thirty, because statistics vary the more the shorter a sentence is; questions,
exclamations and lists are among them; and every third sentence is slow or fast, so that the speed shows in the map.
`data/calibration/<language>.txt` are the texts; `tools/calibration_phonemes.py` made the phonemes of them, once: a
table then depends on the weights and on these files alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from kokoro_weights.language import voice_traits

RECIPE: Final = 1
"""Raise it when the same sentences are spoken otherwise."""
_SPEEDS: Final = (1.0, 1.0, 0.8, 1.0, 1.0, 1.25)


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence to speak. `phonemes`: 1 to 510 symbols of the vocabulary."""

    phonemes: str
    speed: float


def calibration_lines(voice: str) -> tuple[Line, ...]:
    """The sentences that a voice speaks; those in American English where its name tells no language."""
    known = _phonemes()
    language = voice_traits(voice).tag.lower()
    sentences = known.get(language) or known.get(language.partition("-")[0]) or known["en-us"]
    return tuple(Line(phonemes, _SPEEDS[index % len(_SPEEDS)]) for index, phonemes in enumerate(sentences))


def text_digest() -> str:
    """SHA-256 over all sentences and how they are spoken."""
    return hashlib.sha256(json.dumps([RECIPE, _SPEEDS, _phonemes()], sort_keys=True).encode()).hexdigest()


@cache
def _phonemes() -> dict[str, list[str]]:
    source = files("kokoro_weights").joinpath("data", "calibration", "phonemes.json")
    phonemes: dict[str, list[str]] = json.loads(source.read_text(encoding="utf-8"))
    return phonemes
