"""The picture, and the listening times that it draws."""

import struct
from pathlib import Path

import pytest
from local_cloud.answer import Answer, SentenceTimes
from local_cloud.timeline import draw_timeline, heard_spans_s


def answer(sentences: int) -> Answer:
    times = tuple(
        SentenceTimes(
            f"Sentence {n} says $5 and <b> & {'x' * 80}.", n * 500, n * 500 + 1, n * 500 + 300, n * 500 + 900, 1
        )
        for n in range(sentences)
    )
    return Answer("bidi", "", "pcm", b"", 0.0, 24_000, 10.0, 300.0 if sentences else None, 5000.0, times)


def test_a_listener_hears_one_sentence_after_the_other() -> None:
    sentences = [SentenceTimes("a", 0, 0, 1000, 1500, 2.0), SentenceTimes("b", 0, 0, 1500, 1800, 1.0)]
    assert heard_spans_s(sentences) == [(1.0, 3.0), (3.0, 4.0)]


def test_a_late_sentence_leaves_a_gap() -> None:
    sentences = [SentenceTimes("a", 0, 0, 1000, 1500, 0.5), SentenceTimes("b", 0, 0, 4000, 4800, 1.0)]
    assert heard_spans_s(sentences) == [(1.0, 1.5), (4.0, 5.0)]


def test_a_sentence_that_was_not_heard_takes_no_time() -> None:
    sentences = [SentenceTimes("a", 0), SentenceTimes("b", 0, 0, 1000, 1200, 0.5)]
    assert heard_spans_s(sentences) == [None, (1.0, 1.5)]


@pytest.mark.parametrize("count", [0, 1, 10, 60])
def test_the_picture_is_a_png_that_grows_with_the_answer(tmp_path: Path, count: int) -> None:
    path = tmp_path / "out" / "timeline.png"
    draw_timeline([answer(count), answer(count)], path, title="What is this?")
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert width == 11 * 120
    assert 300 < height < 3000
