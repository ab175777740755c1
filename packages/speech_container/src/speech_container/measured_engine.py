"""An engine whose steps are told to somebody, and that is in all else the engine it wraps."""

import time
from collections.abc import Callable, Sequence

from speech_protocol import Latency

from .engine import Engine, Utterance, Waveform

Told = Callable[[int, float, float], None]
"""Of one step: how many utterances, how many seconds it took, how many seconds of audio it made."""


class MeasuredEngine:
    """`told` is called by the engine's thread, after each step that has succeeded."""

    def __init__(self, engine: Engine, told: Told, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._told = told
        self._clock = clock

    @property
    def name(self) -> str:
        """See `Engine`."""
        return self._engine.name

    @property
    def max_batch(self) -> int:
        """See `Engine`."""
        return self._engine.max_batch

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """See `Engine`."""
        return self._engine.latencies

    def load(self) -> None:
        """See `Engine`."""
        self._engine.load()

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """See `Engine`."""
        begun_s = self._clock()
        waveforms = self._engine.synthesize(batch)
        self._told(len(batch), self._clock() - begun_s, sum(waveform.duration_s for waveform in waveforms))
        return waveforms

    def close(self) -> None:
        """See `Engine`."""
        self._engine.close()
