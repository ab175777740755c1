"""Sentences come out verbatim, in order, as soon as they are sure, and however the text was cut."""

import json
import random
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_text import IncrementalSentenceChunker, LanguageUnsupported

CASES = json.loads((Path(__file__).parent / "cases" / "sentences.json").read_text(encoding="utf-8"))
LANGUAGES = ("en", "es", "fr", "de", "it", "pt", "hi", "ja", "zh")
FRAGMENTS = re.split(
    " ",
    "Word word the It It's Don’t I A Dr. e.g. U.S. p. m. a.m. Monday No. 5 3.5 1,000 St. Yahoo http://a.b/c?d x@y.z "
    "न मस्ते । 好 的 。 はい と ！ 「 」 « » „ “ ” ‘ ’ ' \" ( ) [ ] [1] 1. 2. 1) a. - * ** ` _ ~~ # | , ; : — / ¿ ¡ "
    ". ! ? … ... .Next ?Q 🎉 👍🏽 👩‍👩‍👧 :) \u200d \ufe0f \u0301 \x00 \u200f \ud800",
)
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(FRAGMENTS),
        st.sampled_from([" ", "  ", "\n", "\n\n", "\r\n", "\t", "\u2028", ". ", ". . . "]),
        st.text(max_size=3),
    ),
    max_size=40,
).map("".join)


def cut_sentences(deltas: Iterable[str], language: str = "en", **options: Any) -> list[str]:
    chunker = IncrementalSentenceChunker(language, **options)
    pieces = [piece for delta in deltas for piece in chunker.feed(delta)]
    return pieces + chunker.flush()


def test_the_case_file_is_whole() -> None:
    assert len(CASES) == 40


@pytest.mark.parametrize("case", CASES, ids=[f"{case['language']}-{case['why']}" for case in CASES])
def test_a_case_gives_its_sentences_however_it_is_cut(case: dict[str, Any]) -> None:
    text, language, expected = case["text"], case["language"], case["sentences"]
    assert cut_sentences([text], language) == expected
    assert cut_sentences(case.get("deltas", [text]), language) == expected
    assert cut_sentences(text, language) == expected
    dice = random.Random(text)
    for _ in range(200):
        assert cut_sentences(random_cuts(text, dice), language) == expected


def random_cuts(text: str, dice: random.Random) -> list[str]:
    places = sorted(dice.randrange(len(text) + 1) for _ in range(dice.randrange(1, 10)))
    return [text[low:high] for low, high in zip([0, *places], [*places, len(text)], strict=True)]


@given(TEXTS, st.sampled_from(LANGUAGES), st.sampled_from([16, 40, 300]), st.booleans())
def test_pieces_are_verbatim_in_order_and_hold_everything(
    text: str, language: str, max_chars: int, first_clause: bool
) -> None:
    at = 0
    for piece in cut_sentences([text], language, max_chars=max_chars, first_clause=first_clause):
        assert piece
        assert piece == piece.strip()
        assert len(piece) <= max_chars
        start = text.index(piece, at)
        assert not text[at:start].strip()
        at = start + len(piece)
    assert not text[at:].strip()


@given(
    TEXTS,
    st.sampled_from(LANGUAGES),
    st.sampled_from([16, 40, 300]),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=8),
)
def test_the_pieces_do_not_depend_on_the_cuts(
    text: str, language: str, max_chars: int, first_clause: bool, places: list[int]
) -> None:
    whole = cut_sentences([text], language, max_chars=max_chars, first_clause=first_clause)
    assert cut_sentences(text, language, max_chars=max_chars, first_clause=first_clause) == whole
    cuts = sorted(place % (len(text) + 1) for place in places)
    deltas = [text[low:high] for low, high in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert cut_sentences(deltas, language, max_chars=max_chars, first_clause=first_clause) == whole


def test_a_sentence_goes_out_with_the_first_letter_of_the_next_word() -> None:
    chunker = IncrementalSentenceChunker()
    assert chunker.feed("It is done. ") == []
    assert chunker.feed("N") == ["It is done."]


def test_an_abbreviation_waits_for_the_whole_next_word_and_no_longer() -> None:
    chunker = IncrementalSentenceChunker()
    assert chunker.feed("He lives in the U.S. The") == []
    assert chunker.feed(" ") == ["He lives in the U.S."]


def test_a_chunker_begins_anew_after_flush() -> None:
    chunker = IncrementalSentenceChunker(first_clause=True)
    text = "When the rain had finally stopped, we walked along the river to the bridge. Fine."
    first = chunker.feed(text) + chunker.flush()
    assert chunker.feed(text) + chunker.flush() == first
    assert chunker.flush() == []


def test_the_first_clause_of_a_long_first_sentence_goes_out_alone() -> None:
    text = "When the rain had finally stopped, we walked along the river, to the bridge. When it rained, we stayed in."
    pieces = cut_sentences([text], first_clause=True)
    assert pieces == [
        "When the rain had finally stopped,",
        "we walked along the river, to the bridge.",
        "When it rained, we stayed in.",
    ]
    assert cut_sentences([text])[0].startswith("When the rain had finally stopped, we")


@pytest.mark.parametrize(
    "text", ["Well, that is all I have for you.", "Yes I can do that, sure.", "It costs 1,000 in all and more."]
)
def test_a_short_first_clause_or_a_short_rest_stays_whole(text: str) -> None:
    assert cut_sentences([text], first_clause=True) == [text]


@pytest.mark.parametrize(
    ("text", "first_ends_with"),
    [
        ("we went on and on, " * 40, ","),
        ("we went on and on " * 40, "on"),
        ("x" * 900, "x"),
        ("我们走了很远，" * 120, "，"),
        ("我们走了很远" * 120, ""),
        ("わたしたちは東京へ行きました" * 60, ""),
    ],
    ids=["clause", "word", "character", "chinese clause", "chinese", "japanese"],
)
def test_a_run_on_is_cut_before_max_chars(text: str, first_ends_with: str) -> None:
    pieces = cut_sentences([text])
    assert len(pieces) > 1
    assert all(len(piece) <= 300 for piece in pieces)
    assert pieces[0].endswith(first_ends_with)
    assert len(pieces[0]) > 75


def test_a_run_on_is_not_cut_between_a_letter_and_its_mark() -> None:
    text = "e\u0301" * 400
    assert all(piece.startswith("e") for piece in cut_sentences([text]))


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(LanguageUnsupported, match="'tlh'"):
        IncrementalSentenceChunker("tlh")


def test_a_max_chars_too_small_for_words_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16"):
        IncrementalSentenceChunker(max_chars=4)


@pytest.mark.parametrize(
    "unit",
    ["So it was said. And Dr. Smith, of the U.S. Navy (or not), went on. ", "a", ".", "(", '"', " ", "\n", "🎉", "A. "],
)
def test_the_work_grows_as_the_text_does(unit: str) -> None:
    small, large = (lines_run(unit, chars) for chars in (4_000, 16_000))
    assert small > 0
    assert large / small < 4.6


def lines_run(unit: str, chars: int) -> int:
    """How many lines of Python run while the text is fed one character at a time; regular expressions see a window."""
    text = (unit * chars)[:chars]
    count = 0

    def tracer(_frame: FrameType, event: str, _arg: Any) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        cut_sentences(text)
    finally:
        sys.settrace(before)
    return count


def test_what_is_kept_does_not_grow_with_the_text() -> None:
    chunker = IncrementalSentenceChunker()
    for _ in range(2_000):
        chunker.feed('No end of sentences here. And (still, "so.')
    assert len(chunker.flush()[-1]) <= 300
    assert chunker.flush() == []
