"""Japanese, where its extra is installed."""

import pytest
from speech_text import KOKORO_SYMBOLS, FrontEnd

pytest.importorskip("fugashi", reason="the extra speech-text[ja] is not installed")


def test_words_find_their_sounds_without_spaces(front_end: FrontEnd) -> None:
    sent = "今日は2026年11月29日です。「GPT」は3.5円。"
    segments = front_end.segments(sent, "ja")
    assert all(set(segment.phonemes) <= KOKORO_SYMBOLS for segment in segments)
    said = {
        word.text: segment.phonemes[word.phoneme_start : word.phoneme_end]
        for segment in segments
        for word in segment.words
    }
    assert said["今日"] == "kʲoː"
    assert said["月"] == "ɡaʦɨ"
    assert said["GPT"].startswith("ʤ")
    assert said["3.5"] == "saɴ teɴ ɡo"
    assert "".join(said) == sent.replace("は3", "3").translate(str.maketrans("", "", "。「」"))


def test_a_particle_after_a_quote_keeps_its_sound(front_end: FrontEnd) -> None:
    assert "βa" in front_end.segments("「本」は赤い。", "ja")[0].phonemes
