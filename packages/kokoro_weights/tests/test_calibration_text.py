"""What is spoken to calibrate suits every voice."""

from __future__ import annotations

from importlib.resources import files

import pytest
from kokoro_weights.calibration_text import calibration_lines, text_digest
from kokoro_weights.pins import load

VOICES = sorted(load().voices)


@pytest.mark.parametrize("voice", ["af_heart", "bm_george", "ef_dora", "ff_siwis", "hf_alpha", "if_sara", "pf_dora"])
def test_a_voice_speaks_forty_to_sixty_sentences_of_many_lengths(voice: str) -> None:
    lengths = [len(line.phonemes) for line in calibration_lines(voice)]
    assert 40 <= len(lengths) <= 60
    assert min(lengths) < 30
    assert 120 < max(lengths) <= 510
    assert {line.speed for line in calibration_lines(voice)} == {0.8, 1.0, 1.25}


def test_every_language_of_the_voices_has_sentences_of_its_own() -> None:
    spoken = {voice[0]: calibration_lines(voice) for voice in VOICES}
    assert len(set(spoken.values())) == len(spoken) == 9


def test_a_voice_of_no_known_language_speaks_american_english() -> None:
    assert calibration_lines("mine") == calibration_lines("af_heart")


def test_the_texts_beside_the_phonemes_have_as_many_sentences() -> None:
    folder = files("kokoro_weights").joinpath("data", "calibration")
    for voice, name in (("af_heart", "en"), ("jf_alpha", "ja"), ("zf_xiaoxiao", "zh"), ("hf_alpha", "hi")):
        text = folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")
        assert len(text.splitlines()) == len(calibration_lines(voice))


def test_the_digest_is_of_the_sentences() -> None:
    assert text_digest() == text_digest()
    assert len(text_digest()) == 64


@pytest.mark.weights
def test_every_phoneme_is_in_the_vocabulary() -> None:
    from kokoro_weights import prepare

    known = prepare("packages").vocabulary.keys()
    for voice in VOICES:
        for line in calibration_lines(voice):
            assert set(line.phonemes) <= known, voice
