"""Medians and the ratio that the whole product is about."""

from local_cloud.answer import Answer
from local_cloud.comparison import compare


def answer(mode: str, first_audio_ms: float | None, total_ms: float = 2000.0) -> Answer:
    return Answer(mode, "Hi.", "pcm", b"\0\0" * 24_000, 1.0, 24_000, 100.0, first_audio_ms, total_ms, ())


def test_the_ratio_is_of_medians() -> None:
    answers = [answer("bidi", 100), answer("batch", 1000), answer("bidi", 900), answer("batch", 1000)]
    comparison = compare([*answers, answer("bidi", 300)])
    assert comparison.first_audio_ratio == 0.3
    assert [(times.mode, times.runs, times.first_audio_ms) for times in comparison.modes] == [
        ("bidi", 3, 300),
        ("batch", 2, 1000),
    ]


def test_one_mode_has_no_ratio() -> None:
    assert compare([answer("bidi", 100)]).first_audio_ratio is None


def test_silence_has_no_ratio() -> None:
    assert compare([answer("bidi", 100), answer("batch", None)]).first_audio_ratio is None
    assert compare([answer("bidi", None), answer("batch", 5)]).first_audio_ratio is None


def test_a_comparison_is_plain_data() -> None:
    fields = compare([answer("bidi", 100)]).as_dict()
    assert fields["modes"][0]["mode"] == "bidi"
    assert fields["modes"][0]["audio_s"] == 1.0
