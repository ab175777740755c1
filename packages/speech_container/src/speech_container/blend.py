"""What a request may name as its voice: one voice, or a weighted blend of several.

    blend  = part *( "+" part )         at most eight parts
    part   = name [ "(" weight ")" ]    weight: a decimal number above 0; 1 where it is left out

White space is allowed around every piece. Weights count in proportion to their sum, so `af_heart(2)+af_bella(1)` and
`af_heart(4) + af_bella(2)` are one voice; a name that comes twice has the sum of its weights. A blend speaks the
language of its heaviest voice, of the first among equals.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final

from speech_protocol import ErrorCode

from .errors import Refusal

MAX_PARTS: Final = 8
_PART: Final = re.compile(r"\s*([^\s()+]+)\s*(?:\(\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*\)\s*)?", re.ASCII)
_WEIGHT_DIGITS: Final = 6  # finer differences than a millionth are not kept, and not heard


@dataclass(frozen=True, slots=True)
class Blend:
    """Voices and their shares, which sum to 1, ordered by name: blends that sound alike are equal."""

    shares: tuple[tuple[str, float], ...]
    lead: str = field(compare=False)
    """The heaviest voice, or the first of the heaviest."""

    @property
    def names(self) -> tuple[str, ...]:
        """The voices in it."""
        return tuple(name for name, _ in self.shares)


def parse_blend(voice: str) -> Blend:
    """Raises `Refusal` (`voice_unknown`), naming the part that is no name with a weight."""
    parts = voice.split("+")
    if len(parts) > MAX_PARTS:
        raise Refusal(ErrorCode.VOICE_UNKNOWN, f"a blend has at most {MAX_PARTS} voices; {len(parts)} came")
    weights: dict[str, float] = {}
    for part in parts:
        name, weight = _parse_part(part)
        weights[name] = weights.get(name, 0.0) + weight
    total = sum(weights.values())
    shares = {name: round(weight / total, _WEIGHT_DIGITS) for name, weight in weights.items()}
    return Blend(tuple(sorted(shares.items())), max(weights, key=weights.__getitem__))


def shown(name: str) -> str:
    """A voice's name, or what came in its place, short enough for a message."""
    return ascii(name) if len(name) <= 40 else ascii(name[:40]) + "..."


def _parse_part(part: str) -> tuple[str, float]:
    match = _PART.fullmatch(part)
    weight = float(match[2]) if match and match[2] else 1.0
    if match is None or not 0 < weight < math.inf:
        raise Refusal(
            ErrorCode.VOICE_UNKNOWN,
            f"{shown(part.strip())} is no voice with a weight above 0; a blend looks like af_heart(2)+af_bella(1)",
        )
    return match[1], weight
