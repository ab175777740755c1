"""How fast the engine is, learnt from the steps it has done: what they cost, by batch size, and how long speech lasts.

An engine on a CPU takes time in proportion to the phonemes, one on a GPU nearly the same for one sentence as for
eight. So the cost of a phoneme is kept for each batch size, as smoothed seconds over smoothed phonemes, in which a
long sentence weighs more than a short one. A size that has not been seen costs what the nearest one does. A chunk of a
sentence counts as the phonemes that its share of the audio is.
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
    whole: float

    def add(self, amount: float, whole: float) -> None:
        self.amount += _SMOOTHING * (amount - self.amount)
        self.whole += _SMOOTHING * (whole - self.whole)

    @property
    def ratio(self) -> float:
        return self.amount / self.whole


class Pace:
    """Estimates from what was `measured`."""

    def __init__(self) -> None:
        self._steps: dict[int, _Mean] = {}
        self._audio = _Mean(_FIRST_AUDIO_S, _FIRST_PHONEMES)
        self._first_chunks = _Mean(_FIRST_AUDIO_S, _FIRST_AUDIO_S)

    def measured(self, batch: int, phonemes: float, took_s: float, audio_s: float) -> None:
        """A step of `batch` segments with so many phonemes together took so long and made so much audio."""
        phonemes = max(1, phonemes)
        self._audio.add(audio_s, phonemes)
        if batch in self._steps:
            self._steps[batch].add(took_s, phonemes)
        else:
            self._steps[batch] = _Mean(took_s, phonemes)

    def opened(self, first_s: float, whole_s: float) -> None:
        """A segment of `whole_s` seconds of audio had a first chunk of `first_s`."""
        self._first_chunks.add(first_s, whole_s)

    @property
    def first_share(self) -> float:
        """About how much of a segment its first chunk is; all of it before any was seen."""
        return self._first_chunks.ratio

    def takes_s(self, phonemes: float, batch: int) -> float:
        """About how long steps of `batch` segments take over so many phonemes."""
        if not self._steps:
            return phonemes * _FIRST_STEP_S / _FIRST_PHONEMES
        nearest = min(self._steps, key=lambda size: (abs(size - batch), size))
        return phonemes * self._steps[nearest].ratio

    def lasts_s(self, phonemes: float) -> float:
        """About how many seconds of audio so many phonemes make."""
        return phonemes * self._audio.ratio
