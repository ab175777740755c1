"""What is learnt of the engine from the steps it has done."""

import pytest
from speech_container.pace import Pace


def test_before_any_step_it_is_taken_for_a_slow_laptop() -> None:
    assert Pace().takes_s(60, batch=1) == pytest.approx(0.5)


def test_one_step_is_enough_to_know_what_the_next_costs() -> None:
    pace = Pace()
    pace.measured(1, phonemes=40, took_s=0.8, audio_s=2.0)
    assert pace.takes_s(20, batch=1) == pytest.approx(0.4)


def test_sizes_of_batches_cost_what_they_did() -> None:
    pace = Pace()
    pace.measured(1, phonemes=40, took_s=0.4, audio_s=3.0)
    pace.measured(8, phonemes=320, took_s=0.8, audio_s=24.0)
    assert pace.takes_s(320, batch=1) == pytest.approx(3.2)
    assert pace.takes_s(320, batch=8) == pytest.approx(0.8)
    assert pace.takes_s(320, batch=7) == pytest.approx(0.8), "the nearest that is known"


def test_it_follows_an_engine_that_changes_its_speed() -> None:
    pace = Pace()
    pace.measured(1, phonemes=40, took_s=4.0, audio_s=3.0)
    for _ in range(30):
        pace.measured(1, phonemes=40, took_s=0.4, audio_s=3.0)
    assert pace.takes_s(40, batch=1) == pytest.approx(0.4, rel=0.05)


def test_a_long_sentence_says_more_than_a_short_one() -> None:
    """An engine that takes 0.1 s whatever it is given, and is given short and long in turns."""
    pace = Pace()
    for _ in range(40):
        pace.measured(1, phonemes=2, took_s=0.1, audio_s=0.2)
        pace.measured(1, phonemes=98, took_s=0.1, audio_s=6.6)
    assert pace.takes_s(50, batch=1) == pytest.approx(0.1, rel=0.2)


def test_how_long_speech_lasts_is_learnt_too() -> None:
    pace = Pace()
    assert pace.lasts_s(60) == pytest.approx(4.0)
    for _ in range(30):
        pace.measured(2, phonemes=100, took_s=0.1, audio_s=5.0)
    assert pace.lasts_s(60) == pytest.approx(3.0, rel=0.05)


def test_a_step_without_phonemes_is_survived() -> None:
    pace = Pace()
    pace.measured(1, phonemes=0, took_s=0.1, audio_s=0.0)
    assert pace.takes_s(10, batch=1) > 0


def test_first_chunks_are_as_much_of_a_sentence_as_they_have_been() -> None:
    pace = Pace()
    assert pace.first_share == 1.0
    for _ in range(40):
        pace.opened(1.0, 2.0)
        pace.opened(1.0, 8.0)
    assert pace.first_share == pytest.approx(0.2, rel=0.2)
