"""Mandarin, where its extra is installed."""

import pytest
from speech_text import KOKORO_SYMBOLS, FrontEnd

pytest.importorskip("jieba", reason="the extra speech-text[zh] is not installed")


def test_words_find_their_sounds_without_spaces(front_end: FrontEnd) -> None:
    sent = "价格是3.5元，很便宜。我用GPT，50%。"
    segments = front_end.segments(sent, "zh")
    assert all(set(segment.phonemes) <= KOKORO_SYMBOLS for segment in segments)
    assert not any(segment.unsupported for segment in segments)
    words = [word.text for segment in segments for word in segment.words]
    assert "".join(words) == sent.translate(str.maketrans("", "", "，。"))
    assert segments[0].phonemes == "ʨja↘kɤ↗ ʂɨ↘ sa→ntjɛ↓n u↓ ɥɛ↗n, xə↓n pʰjɛ↗ni."
