"""The voices of one server: what they are called, what language they speak, and their style rows.

A Kokoro voice is float32 [510, 256]; an utterance of n tokens takes row n - 1. The first letter of its name is its
language and the second its gender (https://huggingface.co/hexgrad/Kokoro-82M/blob/main/VOICES.md). Voices blend
because a style is a point in a space: a blend's row is the weighted mean of its voices' rows. How blends are written
is in `blend`.
"""

import difflib
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from speech_protocol import ErrorCode

from .blend import Blend, parse_blend, shown
from .engine import MAX_TOKENS, STYLE_SIZE
from .errors import Refusal

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory

LANGUAGE_OF_LETTER: Final = {
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
GENDER_OF_LETTER: Final = {"f": "female", "m": "male"}
MAX_BLENDS_KEPT: Final = 32  # tables of 0.5 MB
TONE_VOICES: Final = (
    *("af_alloy", "af_aoede", "af_bella", "af_heart", "af_jessica", "af_kore", "af_nicole", "af_nova", "af_river"),
    *("af_sarah", "af_sky", "am_adam", "am_echo", "am_eric", "am_fenrir", "am_liam", "am_michael", "am_onyx"),
    *("am_puck", "am_santa", "bf_alice", "bf_emma", "bf_isabella", "bf_lily", "bm_daniel", "bm_fable", "bm_george"),
    *("bm_lewis", "ef_dora", "em_alex", "em_santa", "ff_siwis", "hf_alpha", "hf_beta", "hm_omega", "hm_psi"),
    *("if_sara", "im_nicola", "jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo", "pf_dora"),
    *("pm_alex", "pm_santa", "zf_xiaobei", "zf_xiaoni", "zf_xiaoxiao", "zf_xiaoyi", "zm_yunjian", "zm_yunxi"),
    *("zm_yunxia", "zm_yunyang"),
)

Table = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VoiceCard:
    """What a listing says of a voice. `gender` is None where the name does not tell."""

    name: str
    language: str
    gender: str | None


class VoiceBook:
    """Voices by name, and their blends. Each voice is read when it is first asked for and kept (0.5 MB).

    A voice is asked for as a request names it: `af_heart`, or `af_heart(2)+af_bella(1)`.
    """

    def __init__(self, names: Iterable[str], read: Callable[[str], Table]) -> None:
        self.names = tuple(sorted(names))
        self._known = frozenset(self.names)
        self._read = read
        self._styles: dict[str, Table] = {}
        self._blends: OrderedDict[Blend, Table] = OrderedDict()

    @classmethod
    def of_weights(cls, weights: "WeightsDirectory") -> "VoiceBook":
        """The voices that a prepared weights directory holds."""
        return cls(weights.voice_names, weights.voice)

    @classmethod
    def of_tones(cls) -> "VoiceBook":
        """Voices for the tone engine: Kokoro's names, each with rows of its own."""
        return cls(TONE_VOICES, _tone_styles)

    @property
    def cards(self) -> tuple[VoiceCard, ...]:
        """All voices, by name."""
        return tuple(VoiceCard(name, _language(name), GENDER_OF_LETTER.get(name[1:2])) for name in self.names)

    def language(self, voice: str) -> str:
        """The language that a voice speaks unless a request says otherwise. Raises `Refusal` for an unknown voice."""
        return _language(self._blend(voice).lead)

    def style(self, voice: str, tokens: int) -> NDArray[np.float32]:
        """float32 [256]: the row for an utterance of `tokens` tokens. Raises `Refusal` for an unknown voice."""
        row: NDArray[np.float32] = self._table(self._blend(voice))[tokens - 1]
        return row

    def shares(self, voice: str) -> tuple[tuple[str, float], ...]:
        """The voices in it, each with its share of the whole. Raises `Refusal` for an unknown voice."""
        return self._blend(voice).shares

    def _blend(self, voice: str) -> Blend:
        blend = parse_blend(voice)
        for name in blend.names:
            self._require(name)
        return blend

    def _table(self, blend: Blend) -> Table:
        if len(blend.shares) == 1:
            return self._voice(blend.lead)
        if blend in self._blends:
            self._blends.move_to_end(blend)
            return self._blends[blend]
        table = np.zeros((MAX_TOKENS, STYLE_SIZE), dtype=np.float32)
        for name, share in blend.shares:
            table += np.float32(share) * self._voice(name)
        self._blends[blend] = table
        if len(self._blends) > MAX_BLENDS_KEPT:
            self._blends.popitem(last=False)
        return table

    def _voice(self, name: str) -> Table:
        if name not in self._styles:
            self._styles[name] = self._read(name)
        return self._styles[name]

    def _require(self, name: str) -> None:
        if name not in self._known:
            close = difflib.get_close_matches(name, self.names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else "GET /v1/audio/voices lists them"
            raise Refusal(
                ErrorCode.VOICE_UNKNOWN, f"voice {shown(name)} is not one of the {len(self.names)} voices here; {hint}"
            )


def _language(name: str) -> str:
    return LANGUAGE_OF_LETTER.get(name[:1], "en-us")


def _tone_styles(name: str) -> Table:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    row = generator.standard_normal(STYLE_SIZE, dtype=np.float32)
    return np.broadcast_to(row, (MAX_TOKENS, STYLE_SIZE))
