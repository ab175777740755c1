"""What is printed into a pipe: plain lines, whole sentences, one line an error."""

import pytest
from local_cloud.answer import Answer, SentenceTimes
from local_cloud.comparison import compare
from local_cloud.console import Console

SENTENCES = (SentenceTimes("It is [bold] and  blue.", 500, 501, 900, 1500, 1.2), SentenceTimes("Why?", 700))


def answer(mode: str, first_audio_ms: float) -> Answer:
    return Answer(mode, "It is blue.", "pcm", b"\0\0" * 36_000, 1.5, 24_000, 120.0, first_audio_ms, 2500.0, SENTENCES)


def test_the_comparison_shows_both_modes_and_how_much_sooner(capsys: pytest.CaptureFixture[str]) -> None:
    Console().comparison(compare([answer("bidi", 900), answer("batch", 3600)]))
    out = capsys.readouterr().out
    assert "bidi" in out
    assert "0.90 s" in out
    assert "3.60 s" in out
    assert "first audio, bidi / batch: 0.25 (one run each): heard 4.0 times sooner" in out


def test_runs_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Console().comparison(compare([answer("bidi", 900), answer("batch", 3600)] * 3))
    assert "0.25 (medians of 3 runs)" in capsys.readouterr().out


def test_one_mode_alone_has_no_ratio_line(capsys: pytest.CaptureFixture[str]) -> None:
    Console().comparison(compare([answer("bidi", 900)]))
    assert "bidi / batch" not in capsys.readouterr().out


def test_sentences_are_shown_as_they_are_with_their_moments(capsys: pytest.CaptureFixture[str]) -> None:
    Console().sentences(answer("bidi", 900))
    out = capsys.readouterr().out
    assert "It is [bold] and blue." in out
    for moment in ("0.50 s", "0.90 s", "1.50 s", "1.2 s", "–"):
        assert moment in out


def test_an_error_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Console().error("the port is taken\nby [somebody] else " + "x" * 300)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"voice-local: the port is taken by [somebody] else {'x' * 300}\n"


def test_steps_say_what_took_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    with Console().step("loading"):
        pass
    assert capsys.readouterr().err.startswith("✓ loading  0.")


def test_a_step_that_fails_is_not_ticked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), Console().step("loading"):
        raise ValueError("no")
    assert capsys.readouterr().err == ""
