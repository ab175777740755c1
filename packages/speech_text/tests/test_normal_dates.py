"""Dates and times of day in English."""

import pytest
from speech_text.reading import speakable


@pytest.mark.parametrize(
    ("written", "read"),
    [
        # times
        ("at 6:15pm, 9:05 a.m. and 15:30", "at 6 15 p m, 9 oh 5 a m and 15 30"),
        ("10:00 or 00:30 or 14:00", "10 o'clock or 0 30 or 14 hundred"),
        ("5-7pm on Monday", "5 to 7 p m on Monday"),
        ("We close at 9 p.m.", "We close at 9 p m."),
        # dates
        ("Due 11/29/2026.", "Due November 29th, 2026."),
        ("since 2026-01-03", "since January 3rd, 2026"),
        ("Nov. 29, 2026 and November 5", "November 29th, 2026 and November 5th"),
        ("on 29 Nov 2026", "on 29th of November 2026"),
        ("May 5 people go?", "May 5 people go?"),
    ],
)
def test_it_is_read_as_people_say_it(written: str, read: str) -> None:
    assert speakable(written) == read


def test_british_english_puts_the_day_first() -> None:
    assert speakable("3/11/2026", "en-gb") == "3rd of November, 2026"
    assert speakable("3/11/2026", "en-us") == "March 11th, 2026"


def test_a_number_above_twelve_is_a_day_everywhere() -> None:
    assert speakable("29/11/2026", "en-us") == "November 29th, 2026"


def test_a_date_that_is_none_is_left_as_it_is() -> None:
    assert speakable("45/45/2026") == "45/45/2026"
