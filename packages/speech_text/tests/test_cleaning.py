"""No character is left that upsets an engine, and what is left keeps its origin."""

import pytest
from speech_text.cleaning import LONGEST_RUN, break_long_runs, clean, spread_mixed_runs
from speech_text.traced import Traced


@pytest.mark.parametrize(
    ("sent", "cleaned"),
    [
        ("can’t won‘t", "can't won‘t"),
        ("the dogs’ bowls", "the dogs' bowls"),
        ("‘Tis the ’90s", "'Tis the '90s"),
        ("‘quoted’ words", "‘quoted’ words"),
        ("a\x00b\u200fc\u00add", "a bcd"),
        ("a \n\t b\u00a0c", "a b c"),
        ("so 🎉 nice :)", "so nice "),
        ("क्\u200dया", "क्\u200dया"),
        ("x\u200dy", "xy"),
    ],
)
def test_it_is_cleaned(sent: str, cleaned: str) -> None:
    assert clean(Traced.of(sent)).text == cleaned


def test_a_long_run_is_broken_where_a_reader_would() -> None:
    broken = break_long_runs(Traced.of("https://example.org/a-long-path/that/goes-on/and/on/for/ever"))
    assert all(len(run) <= LONGEST_RUN for run in broken.text.split())
    assert broken.text.replace(" ", "") == "https://example.org/a-long-path/that/goes-on/and/on/for/ever"
    assert broken.text.split()[0][-1] in "/-."


def test_letters_and_digits_by_turns_are_spread_only_when_many() -> None:
    assert spread_mixed_runs(Traced.of("x9y8z7w6 B2B 3D H2O")).text == "x 9 y 8 z 7 w 6 B2B 3D H2O"
