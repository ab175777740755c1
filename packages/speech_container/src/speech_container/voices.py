"""The voices of one server: what they are called, what language they speak, and their style rows.

A Kokoro voice is float32 [510, 256]; an utterance of n tokens takes row n - 1. The first letter of its name is its
language (https://huggingface.co/hexgrad/Kokoro-82M/blob/main/VOICES.md).
"""

import difflib
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from speech_protocol import ErrorCode

from .engine import MAX_TOKENS, STYLE_SIZE
from .errors import Refusal

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

LANGUAGE_OF_LETTER: Final = {
    "a": "en-us",
    "b": "en-gb",
    "e": "es",
    "f": "fr-fr",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt-br",
    "z": "zh",
}
TONE_VOICES: Final = ("af_bella", "af_heart", "af_nicole", "am_adam", "am_michael", "bf_emma", "bm_george", "ff_siwis")


class VoiceBook:
    """Voices by name; each is read when it is first asked for and kept (0.5 MB)."""

    def __init__(self, names: Iterable[str], read: Callable[[str], NDArray[np.float32]]) -> None:
        self.names = tuple(sorted(names))
        self._known = frozenset(self.names)
        self._read = read
        self._styles: dict[str, NDArray[np.float32]] = {}

    @classmethod
    def of_weights(cls, weights: "WeightsDirectory") -> "VoiceBook":
        """The voices that a prepared weights directory holds."""
        return cls(weights.voice_names, weights.voice)

    @classmethod
    def of_tones(cls) -> "VoiceBook":
        """Voices for the tone engine: a few well-known names, each with rows of its own."""
        return cls(TONE_VOICES, _tone_styles)

    def language(self, name: str) -> str:
        """The language that a voice speaks unless a request says otherwise. Raises `Refusal` for an unknown voice."""
        self._require(name)
        return LANGUAGE_OF_LETTER.get(name[0], "en-us")

    def style(self, name: str, tokens: int) -> NDArray[np.float32]:
        """float32 [256]: the row for an utterance of `tokens` tokens. Raises `Refusal` for an unknown voice."""
        self._require(name)
        if name not in self._styles:
            self._styles[name] = self._read(name)
        row: NDArray[np.float32] = self._styles[name][tokens - 1]
        return row

    def _require(self, name: str) -> None:
        if name not in self._known:
            close = difflib.get_close_matches(name, self.names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else "GET /v1/audio/voices lists them"
            shown = ascii(name) if len(name) <= 40 else ascii(name[:40]) + "..."
            raise Refusal(
                ErrorCode.VOICE_UNKNOWN, f"voice {shown} is not one of the {len(self.names)} voices here; {hint}"
            )


def _tone_styles(name: str) -> NDArray[np.float32]:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    row = generator.standard_normal(STYLE_SIZE, dtype=np.float32)
    return np.broadcast_to(row, (MAX_TOKENS, STYLE_SIZE))
