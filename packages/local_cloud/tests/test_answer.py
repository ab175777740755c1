"""Collecting the agent's events into an answer."""

import base64
import wave
from pathlib import Path
from typing import Any

import pytest
from local_cloud.answer import Answer, AnswerCollector, SentenceTimes
from local_cloud.errors import AnswerFailed

PCM = b"\x01\x00\x02\x00" * 12_000
SENTENCE = {"text": "Hello.", "written_ms": 20.0, "sent_ms": 21.0, "heard_ms": 150.0, "done_ms": 400.0, "audio_s": 1.0}
EVENTS: list[tuple[float, dict[str, Any]]] = [
    (5.0, {"type": "agent_start"}),
    (20.0, {"type": "text_delta", "seq": 0, "text": "Hel"}),
    (30.0, {"type": "text_delta", "seq": 1, "text": "lo."}),
    (90.0, {"type": "audio_stream_start", "format": "pcm", "sample_rate": 24000}),
    (160.0, {"type": "audio_chunk", "seq": 0, "data": base64.b64encode(PCM[:40_000]).decode()}),
    (200.0, {"type": "audio_chunk", "seq": 1, "data": base64.b64encode(PCM[40_000:]).decode()}),
    (300.0, {"type": "audio_stream_end", "total_chunks": 2, "duration_s": 1.0}),
    (310.0, {"type": "agent_end", "sentences": [SENTENCE]}),
]


def collect(events: list[tuple[float, dict[str, Any]]]) -> Answer:
    collector = AnswerCollector("bidi")
    for at_ms, event in events:
        collector.feed(event, at_ms)
    return collector.answer()


def test_text_audio_and_first_moments_are_kept() -> None:
    answer = collect(EVENTS)
    assert (answer.text, answer.format, answer.audio) == ("Hello.", "pcm", PCM)
    assert (answer.first_text_ms, answer.first_audio_ms, answer.total_ms) == (20.0, 160.0, 310.0)
    assert answer.sentences == (SentenceTimes("Hello.", 20.0, 21.0, 150.0, 400.0, 1.0),)
    assert answer.duration_s == 1.0


def test_an_answer_without_words_has_no_first_moments() -> None:
    answer = collect([EVENTS[0], (9.0, {"type": "agent_end", "sentences": []})])
    assert (answer.first_text_ms, answer.first_audio_ms, answer.duration_s) == (None, None, 0.0)


def test_the_agents_error_is_the_callers_error() -> None:
    with pytest.raises(AnswerFailed, match="model_throttled: try again later"):
        collect([(1.0, {"type": "error", "code": "model_throttled", "message": "try again later"})])


@pytest.mark.parametrize("data", ["###", None, "abc"])
def test_audio_that_is_not_base64_is_refused(data: object) -> None:
    with pytest.raises(AnswerFailed, match="base64"):
        collect([(1.0, {"type": "audio_chunk", "seq": 0, "data": data})])


def test_a_stream_that_just_ends_is_no_answer() -> None:
    with pytest.raises(AnswerFailed, match="before its agent_end"):
        collect(EVENTS[:-1])


def test_bare_audio_counts_like_any_other() -> None:
    collector = AnswerCollector("bidi")
    collector.feed({"type": "audio_stream_start", "format": "mp3", "sample_rate": 24000}, 1.0)
    collector.feed_audio(b"ab", 2.0)
    collector.feed_audio(b"cd", 3.0)
    collector.feed({"type": "audio_stream_end", "total_chunks": 2, "duration_s": 0.5}, 4.0)
    collector.feed(EVENTS[-1][1], 5.0)
    answer = collector.answer()
    assert (answer.format, answer.audio, answer.duration_s, answer.first_audio_ms) == ("mp3", b"abcd", 0.5, 2.0)
    with pytest.raises(AnswerFailed, match="got mp3"):
        answer.write_wav(Path("never.wav"))


def test_the_wav_has_true_sizes(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answer.wav"
    collect(EVENTS).write_wav(path)
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        assert file.readframes(file.getnframes()) == PCM
