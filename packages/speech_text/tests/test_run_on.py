"""A run-on is cut at the best place there is."""

import pytest
from speech_text.run_on import cut


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two three, four five six", "one two three,"),
        ("one two three because four five", "one two three"),
        ("one two three four five six", "one two three four five"),
        ("it costs 1,000 or 3:45 perhaps", "it costs 1,000 or 3:45"),
        ("一二三四，五六七八九十", "一二三四，"),
        ("ありがとう世界へようこそみな", "ありがとう世界へようこそみ"),
        ("わたしたちは東京へ", "わたしたちは"),
        ("xxxxxxxxxxxx", "xxxxxxxxxxx"),
    ],
)
def test_the_cut_is_where_a_reader_would_breathe(text: str, first: str) -> None:
    assert text[: cut(text, 0, len(text), None, frozenset({"because"}))] == first


def test_the_end_of_a_sentence_inside_quotes_is_preferred() -> None:
    text = '"One two. Three, four five'
    assert text[: cut(text, 0, len(text), 9, frozenset())] == '"One two.'


def test_a_letter_keeps_its_accent() -> None:
    text = "e\u0301" * 6
    assert cut(text, 0, len(text), None, frozenset()) % 2 == 0
