"""The short form of `benchmarks.low_latency`: what it shows of 180 sentences, of six; and what it says of them."""

from dataclasses import replace

import pytest
from kokoro_weights import prepare
from speech_container.engine_choice import installed_engines
from speech_container.processor import multiplies_bfloat16

from benchmarks.low_latency import SENTENCES, SEVEN_S, VOICES, time_limits
from benchmarks.rig.chunked_sound import ChunkedSound, opened
from benchmarks.rig.limit import Limit, limit_table
from benchmarks.rig.low_latency_sound import (
    Phonemes,
    Row,
    certainty_line,
    certainty_of_a_word,
    sound,
    sound_limits,
    sound_table,
)
from benchmarks.rig.sound import Distance

SAME_IN_BFLOAT16 = "the same in bfloat16"
DISTANCE = Distance(spectral=1.0, mel=0.5, loudness_mean=0.1, loudness_max=0.4, faint_max=2.0)


def row(
    voice: str = "af_heart", *, frames: int = 200, low: Distance = DISTANCE, misheard: int = 1, loses: float = 0.2
) -> Row:
    """A sentence of two words that bfloat16 changes by twice as much, and makes 0.4 nats less certain."""
    worse = Distance(*(2 * getattr(low, name) for name in Distance.__slots__))
    errors = {"exact": 1, "low": misheard, "bfloat16": 1, "served": misheard}
    certainty = {"exact": -1.0, "low": -1.0 - loses, "bfloat16": -1.4, "served": -1.4}
    return Row(voice, "A sentence.", frames, 3, low, worse, worse, 2e-5, words=2, errors=errors, certainty=certainty)


@pytest.mark.load
@pytest.mark.weights
@pytest.mark.timeout(900)
@pytest.mark.skipif("openvino" not in installed_engines(), reason="OpenVINO has wheels for x86-64 only")
def test_held_out_sentences_sound_as_they_do_whole_and_in_a_blend_too() -> None:
    weights = prepare("packages", stages=True)
    made = ChunkedSound(*opened(weights), threads=2, bfloat16=multiplies_bfloat16())
    voices = ("af_heart", "bm_george", "af_heart+af_bella")
    rows = list(sound(made, Phonemes(weights), voices, SENTENCES["en"][9:11], ()))
    assert [found.in_chunks for found in rows] == [True] * 6
    missed = {limit.what for limit in sound_limits(rows) if not limit.is_met}
    assert missed <= {SAME_IN_BFLOAT16}
    misheard = {name: sum(found.errors[name] for found in rows) for name in rows[0].errors}
    assert misheard["served"] <= misheard["exact"], (
        "bfloat16 may be luckier with a word than float32; nobody counts that"
    )
    assert all(found.low.spectral < 0.9 and found.low.loudness_mean < 0.3 for found in rows)
    assert certainty_of_a_word(rows, "low") > certainty_of_a_word(rows, "exact") - 0.01


def test_no_sentence_that_is_measured_was_calibrated_with() -> None:
    from importlib.resources import files

    folder = files("kokoro_weights").joinpath("data", "calibration")
    calibrated = {
        line for file in folder.iterdir() if file.name.endswith(".txt") for line in file.read_text("utf-8").splitlines()
    }
    assert len(calibrated) > 300
    assert calibrated.isdisjoint(text for texts in SENTENCES.values() for text in texts)
    assert (len(SENTENCES["en"]), len(VOICES)) == (30, 6)


def test_limits_are_of_means_and_of_extremes() -> None:
    loud = Distance(spectral=3.0, mel=1.5, loudness_mean=0.1, loudness_max=1.1, faint_max=3.0)
    assert [(limit.figure, limit.limit, limit.is_met) for limit in sound_limits([row(), row(low=loud)])] == [
        (2.0, 4.0, True),
        (1.0, 1.2, True),
        (1.1, 1.0, False),
        (2e-5, 1e-4, True),
        (2, 2, True),
        (2, 2, True),
        (2, 2, True),
    ]


def test_a_word_that_only_chunks_lose_is_told() -> None:
    missed = [limit.what for limit in sound_limits([row(misheard=2)]) if not limit.is_met]
    assert missed == ["words misheard, against whole sentences", "the same in bfloat16"]


def test_certainty_is_a_words_and_of_sentences_in_chunks_that_somebody_heard() -> None:
    foreign = replace(row(), words=0, errors={}, certainty={})
    assert certainty_line([row(), row(loses=1.0), row(frames=99, loses=9.0), foreign]) == (
        "Whisper's certainty of a word, in nats: "
        "whole -0.5000, in chunks -0.8000, whole in bfloat16 -0.7000, in chunks in bfloat16 -0.7000."
    )


def test_a_sentence_that_is_made_whole_proves_nothing() -> None:
    short = row(frames=99, low=Distance(9.0, 9.0, 9.0, 9.0, 9.0))
    assert sound_limits([row(), short]) == sound_limits([row()])
    assert "| `af_heart` | 1 |" in sound_table([row(), short], [])


def test_a_table_has_a_line_for_each_voice_and_says_what_was_missed() -> None:
    table = sound_table([row(), row("bf_emma")], [Limit("a figure", 2.0, 1.0)])
    assert "| `af_heart` | 1 | 1.00 | 2.00 | 2.00 | 0.50 | 1.00 | 0.10, 0.40, 2.00 | 1, 1 of 2 |" in table
    assert "| `bf_emma` | 1 |" in table
    assert "| a figure | 2 | 1 | **missed** |" in table


def test_a_row_comes_back_from_its_file() -> None:
    from dataclasses import asdict

    assert Row.parse(asdict(row())) == row()


def test_the_listener_who_ran_dry_is_a_limit_missed() -> None:
    def result(ran_dry: int) -> dict[str, object]:
        sentences = [{"text": SEVEN_S, "ratio": {"median": 0.3}}]
        return {
            "sentences": sentences,
            "paragraph": {"ratio": {"median": 0.05}},
            "delivered": {"low": {"ran_dry": ran_dry}},
        }

    assert [limit.is_met for limit in time_limits(result(0))] == [True, True, True]
    assert [limit.is_met for limit in time_limits(result(1))] == [True, True, False]
    assert limit_table(time_limits(result(0)))[2] == (
        "| first audio of a 7 s sentence, of its whole decode | 0.3 | 0.4 | met |"
    )
