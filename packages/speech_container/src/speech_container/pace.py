"""How fast the engine is, learnt from the steps it has done: what they cost, by batch size, and how long speech lasts.

An engine on a CPU takes time in proportion to the phonemes, one on a GPU nearly the same for one sentence as for
eight. So the cost of a phoneme is kept for each batch size, as smoothed seconds over smoothed phonemes, in which a
long sentence weighs more than a short one. A size that has not been seen costs what the nearest one does.
"""

from dataclasses import dataclass
from typing import Final

_SMOOTHING: Final = 0.2
_FIRST_STEP_S: Final = 0.5  # before any has been measured: a sentence on a slow laptop
_FIRST_PHONEMES: Final = 60
_FIRST_AUDIO_S: Final = 4.0  # Kokoro speaks about 15 phonemes a second


@dataclass(slots=True)
class _Mean:
    """Two smoothed sums, and so their ratio."""

    amount: float
    phonemes: float

    def add(self, amount: float, phonemes: float) -> None:
        self.amount += _SMOOTHING * (amount - self.amount)
        self.phonemes += _SMOOTHING * (phonemes - self.phonemes)

    @property
    def per_phoneme(self) -> float:
        return self.amount / self.phonemes


class Pace:
    """Estimates from what was `measured`."""

    def __init__(self) -> None:
        self._steps: dict[int, _Mean] = {}
        self._audio = _Mean(_FIRST_AUDIO_S, _FIRST_PHONEMES)

    def measured(self, batch: int, phonemes: int, took_s: float, audio_s: float) -> None:
        """A step of `batch` segments with so many phonemes together took so long and made so much audio."""
        phonemes = max(1, phonemes)
        self._audio.add(audio_s, phonemes)
        if batch in self._steps:
            self._steps[batch].add(took_s, phonemes)
        else:
            self._steps[batch] = _Mean(took_s, phonemes)

    def takes_s(self, phonemes: float, batch: int) -> float:
        """About how long steps of `batch` segments take over so many phonemes."""
        if not self._steps:
            return phonemes * _FIRST_STEP_S / _FIRST_PHONEMES
        nearest = min(self._steps, key=lambda size: (abs(size - batch), size))
        return phonemes * self._steps[nearest].per_phoneme

    def lasts_s(self, phonemes: float) -> float:
        """About how many seconds of audio so many phonemes make."""
        return phonemes * self._audio.per_phoneme
