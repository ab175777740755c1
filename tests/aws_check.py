"""The check that AWS made of its deployed endpoint: three sentences, their published lengths, and what is understood.

Published byte counts for af_heart: 73,200, 108,000 and 98,400 bytes of 24 kHz PCM, that is 1.525, 2.250 and 2.050 s.
The model works in frames of 600 samples (25 ms) and its int8 weights round durations by up to two of them.
"""

import numpy as np
import pytest
from speech_client import Audio, SpeechSession, SynthesisComplete

from tests.hearing import heard, samples, word_errors, words

SENTENCES = {
    "Hello there.": 73_200,
    "This is a post deployment check.": 108_000,
    "It has three sentences.": 98_400,
}
FRAME_BYTES = 600 * 2
TOLERANCE_FRAMES = 4
WRONG_WORDS = 2  # of the twelve


async def speak_in_one_session(session: SpeechSession) -> dict[str, bytes]:
    """The PCM of each sentence, one after the other."""
    spoken: dict[str, bytes] = {}
    for text in SENTENCES:
        pcm = bytearray()
        complete: SynthesisComplete | None = None
        async for event in session.speak(text):
            match event:
                case Audio():
                    pcm += event.data
                case SynthesisComplete():
                    complete = event
                case _:
                    pass
        assert complete is not None
        assert complete.audio_bytes == len(pcm)
        assert complete.total_duration_s == pytest.approx(len(pcm) / 48_000, abs=1e-6)
        spoken[text] = bytes(pcm)
    return spoken


def check_lengths_and_words(spoken: dict[str, bytes]) -> None:
    """Every sentence has about the published length, is neither silent nor clipped, and is understood."""
    for text, published_bytes in SENTENCES.items():
        frames = (len(spoken[text]) - published_bytes) / FRAME_BYTES
        assert abs(frames) <= TOLERANCE_FRAMES, f"{text!r} is {frames:+.1f} frames off"
        loudness = np.abs(samples(spoken[text]))
        assert 0.05 < loudness.max() < 1.0, "it is neither silent nor clipped"
    pause = bytes(24_000)  # half a second between the sentences, as a listener has it
    wrong = word_errors(words(" ".join(SENTENCES)), heard(pause.join(spoken.values())))
    assert wrong <= WRONG_WORDS
