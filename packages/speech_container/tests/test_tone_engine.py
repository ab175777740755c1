"""The engine that tests lean on must be what they take it for."""

import numpy as np
import pytest
from numpy.typing import NDArray
from speech_container.engine import FRAME_SAMPLES, Utterance
from speech_container.tone_engine import ToneEngine
from speech_container.voices import VoiceBook

VOICES = VoiceBook.of_tones()


def speak(*ids: int, voice: str = "af_heart", speed: float = 1.0) -> NDArray[np.float32]:
    (waveform,) = ToneEngine().synthesize([Utterance(ids, VOICES.style(voice, len(ids)), speed)])
    assert waveform.frames is not None
    assert len(waveform.frames) == len(ids) + 2
    assert waveform.frames.sum() * FRAME_SAMPLES == len(waveform.samples)
    return waveform.samples


def test_it_is_deterministic_and_in_range() -> None:
    assert np.array_equal(speak(5, 6, 7), speak(5, 6, 7))
    assert 0.1 < np.abs(speak(5, 6, 7)).max() <= 0.5


@pytest.mark.parametrize("other", [(5, 6, 8), (5, 6), (7, 6, 5)])
def test_texts_sound_different(other: tuple[int, ...]) -> None:
    assert not np.array_equal(speak(5, 6, 7), speak(*other))


def test_voices_sound_different() -> None:
    spoken = [speak(5, 6, 7, voice=voice).tobytes() for voice in VOICES.names]
    assert len(set(spoken)) == len(VOICES.names)


def test_speed_shortens() -> None:
    ids = range(1, 60)
    assert len(speak(*ids, speed=2.0)) < len(speak(*ids)) < len(speak(*ids, speed=0.5))


def test_a_batch_is_its_members() -> None:
    style = VOICES.style("af_heart", 3)
    batch = [Utterance((1, 2, 3), style), Utterance((4,), style)]
    together = ToneEngine(max_batch=2).synthesize(batch)
    assert [len(waveform.samples) for waveform in together] == [len(speak(1, 2, 3)), len(speak(4))]
