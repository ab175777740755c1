"""Rewritten text keeps the way back to the text as sent."""

import re

from hypothesis import given
from hypothesis import strategies as st
from speech_text.cleaning import LONGEST_RUN, break_long_runs, clean
from speech_text.traced import Traced


def test_a_replacement_came_from_all_that_it_replaces() -> None:
    traced = Traced.of("Pay €45 now").sub(re.compile("€(\\d+)"), lambda found: f"{found[1]} euros")
    assert traced.text == "Pay 45 euros now"
    assert traced.range(4, 6) == (5, 7) or traced.range(4, 6) == (4, 7)
    assert traced.range(7, 12) == (4, 7)
    assert traced.range(13, 16) == (8, 11)


def test_a_kept_part_keeps_its_own_origin_and_an_addition_has_none() -> None:
    traced = Traced.of("a **bold** b").sub(re.compile(r"\*\*(.+?)\*\*"), lambda found: (found.span(1), "."))
    assert traced.text == "a bold. b"
    assert traced.range(2, 6) == (4, 8)
    assert traced.range(6, 7) == (8, 8)
    assert traced.range(8, 9) == (11, 12)


def test_a_match_can_be_left_as_it_is() -> None:
    traced = Traced.of("a b")
    assert traced.sub(re.compile("b"), lambda _: None) is traced


@given(st.text())
def test_cleaning_keeps_order_and_leaves_nothing_that_breaks_an_engine(sent: str) -> None:
    cleaned = break_long_runs(clean(Traced.of(sent)))
    assert len(cleaned.text) == len(cleaned.starts) == len(cleaned.ends)
    assert list(cleaned.starts) == sorted(cleaned.starts)
    assert list(cleaned.ends) == sorted(cleaned.ends)
    assert "\x00" not in cleaned.text
    assert all(len(run) <= LONGEST_RUN for run in cleaned.text.split())
