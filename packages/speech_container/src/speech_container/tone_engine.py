"""An engine for tests: instant and deterministic, and its beeps tell texts and voices apart.

Each token is a tone whose length and pitch follow from its id, above a base pitch that follows from the style row. So
two texts differ, two voices differ, and the same request always gives the same samples. At most 0.1 s a token.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from .engine import FRAME_SAMPLES, SAMPLE_RATE_HZ, Utterance, Waveform

AMPLITUDE: Final = 0.5
_BOUNDARY_FRAMES: Final = 2
_PITCHES: Final = 24


class ToneEngine:
    """See the module. `max_batch` is free to choose, so that batching can be tested without a GPU."""

    name = "tone"

    def __init__(self, max_batch: int = 1) -> None:
        self.max_batch = max_batch

    def load(self) -> None:
        """Nothing to load."""

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One run of tones an utterance."""
        return [_tones(utterance) for utterance in batch]

    def close(self) -> None:
        """Nothing to close."""


def base_pitch_hz(utterance: Utterance) -> float:
    """The pitch that the utterance's voice lends to all its tones, 120 to 400 Hz."""
    return 120.0 + 280.0 * zlib.crc32(utterance.style.tobytes()) / 2**32


def _tones(utterance: Utterance) -> Waveform:
    ids = np.array(utterance.token_ids, dtype=np.int64)
    spoken = np.maximum(1, np.rint((1 + ids % 3) / utterance.speed)).astype(np.int64)
    frames = np.concatenate([[_BOUNDARY_FRAMES], spoken, [_BOUNDARY_FRAMES]])
    pitch_hz = base_pitch_hz(utterance) + 20.0 * (ids % _PITCHES)
    phase = np.cumsum(np.repeat(pitch_hz, spoken * FRAME_SAMPLES)) * (2 * np.pi / SAMPLE_RATE_HZ)
    silence = np.zeros(_BOUNDARY_FRAMES * FRAME_SAMPLES, dtype=np.float32)
    samples = np.concatenate([silence, (AMPLITUDE * np.sin(phase)).astype(np.float32), silence])
    return Waveform(samples, frames)
