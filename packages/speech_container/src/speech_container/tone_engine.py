"""An engine for tests: instant and deterministic, and its beeps tell texts and voices apart.

Each token is a tone whose length and pitch follow from its id, above a base pitch that follows from the style row. So
two texts differ, two voices differ, and the same request always gives the same samples. At most 0.1 s a token. What is
asked for at low latency comes in the chunks that a voice would come in, and they are the same samples.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from speech_protocol import Latency

from .chunk_plan import chunk_frames
from .engine import FRAME_SAMPLES, SAMPLE_RATE_HZ, Utterance, Waveform

AMPLITUDE: Final = 0.5
_BOUNDARY_FRAMES: Final = 2
_PITCHES: Final = 24


class ToneEngine:
    """See the module. `max_batch` is free to choose, so that batching can be tested without a GPU."""

    name = "tone"
    latencies: tuple[Latency, ...] = ("exact", "low")

    def __init__(self, max_batch: int = 1) -> None:
        self.max_batch = max_batch

    def load(self) -> None:
        """Nothing to load."""

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One run of tones an utterance, or its next chunk."""
        return [_next_chunk(utterance) if utterance.latency == "low" else _tones(utterance) for utterance in batch]

    def close(self) -> None:
        """Nothing to close."""


def base_pitch_hz(utterance: Utterance) -> float:
    """The pitch that the utterance's voice lends to all its tones, 120 to 400 Hz."""
    return 120.0 + 280.0 * zlib.crc32(utterance.style.tobytes()) / 2**32


@dataclass(frozen=True, slots=True, eq=False)
class _Played:
    """The chunks that have been given out."""

    whole: Waveform
    chunks: tuple[int, ...]
    given: int = 0

    @property
    def to_come_s(self) -> tuple[float, ...]:
        return tuple(frames * FRAME_SAMPLES / SAMPLE_RATE_HZ for frames in self.chunks[self.given :])


def _next_chunk(utterance: Utterance) -> Waveform:
    played = utterance.progress
    if not isinstance(played, _Played):
        whole = _tones(utterance)
        played = _Played(whole, chunk_frames(len(whole.samples) // FRAME_SAMPLES))
    start = sum(played.chunks[: played.given]) * FRAME_SAMPLES
    samples = played.whole.samples[start : start + played.chunks[played.given] * FRAME_SAMPLES]
    after = replace(played, given=played.given + 1)
    return Waveform(samples, played.whole.frames, rest=replace(utterance, progress=after) if after.to_come_s else None)


def _tones(utterance: Utterance) -> Waveform:
    ids = np.array(utterance.token_ids, dtype=np.int64)
    spoken = np.maximum(1, np.rint((1 + ids % 3) / utterance.speed)).astype(np.int64)
    frames = np.concatenate([[_BOUNDARY_FRAMES], spoken, [_BOUNDARY_FRAMES]])
    pitch_hz = base_pitch_hz(utterance) + 20.0 * (ids % _PITCHES)
    phase = np.cumsum(np.repeat(pitch_hz, spoken * FRAME_SAMPLES)) * (2 * np.pi / SAMPLE_RATE_HZ)
    silence = np.zeros(_BOUNDARY_FRAMES * FRAME_SAMPLES, dtype=np.float32)
    samples = np.concatenate([silence, (AMPLITUDE * np.sin(phase)).astype(np.float32), silence])
    return Waveform(samples, frames)
