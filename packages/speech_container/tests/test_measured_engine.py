"""An engine that tells of its steps."""

from typing import Any

import numpy as np
import pytest
from speech_container.engine import Utterance
from speech_container.measured_engine import MeasuredEngine
from speech_container.tone_engine import ToneEngine

Step = tuple[int, float, float]


def utterance(*ids: int) -> Utterance:
    return Utterance(ids, np.zeros(256, dtype=np.float32))


def test_a_step_is_told_with_its_batch_its_time_and_its_audio() -> None:
    steps: list[Step] = []
    times_s = iter([10.0, 10.25])
    engine = MeasuredEngine(ToneEngine(max_batch=4), lambda *step: steps.append(step), lambda: next(times_s))
    waveforms = engine.synthesize([utterance(1, 2), utterance(3)])
    assert steps == [(2, 0.25, sum(waveform.duration_s for waveform in waveforms))]


def test_all_else_is_the_engine_inside() -> None:
    inside = ToneEngine(max_batch=3)
    engine = MeasuredEngine(inside, lambda *_: None)
    engine.load()
    assert (engine.name, engine.max_batch, engine.latencies) == ("tone", 3, ("exact", "low"))
    (ours,), (plain,) = engine.synthesize([utterance(5, 6)]), inside.synthesize([utterance(5, 6)])
    assert np.array_equal(ours.samples, plain.samples)
    engine.close()


def test_a_step_that_fails_is_not_told(held_engine: Any) -> None:
    held_engine.broken_tokens = {2}
    steps: list[Step] = []
    engine = MeasuredEngine(held_engine, lambda *step: steps.append(step))
    with pytest.raises(ValueError, match="in here"):
        engine.synthesize([utterance(1), utterance(2)])
    assert steps == []
