"""Text as it is written, cut into sentences that know their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.context import Sentence, TextContext
from speech_container.errors import Refusal
from speech_text import IncrementalSentenceChunker


def context(max_chars: int = 1000) -> TextContext:
    return TextContext(IncrementalSentenceChunker("en"), max_chars)


def test_a_sentence_comes_out_when_it_is_complete() -> None:
    text = context()
    assert text.feed("  Hello there.") == []
    assert text.feed("\n\nHow are") == [Sentence("Hello there.", 2)]
    assert text.flush() == [Sentence("How are", 16)]
    assert text.text == "  Hello there.\n\nHow are"


def test_the_same_sentence_twice_has_two_places() -> None:
    text = context()
    assert [*text.feed("Yes. Yes. Yes."), *text.flush()] == [Sentence("Yes.", start) for start in (0, 5, 10)]


def test_what_is_cut_comes_out_at_once_and_what_follows_begins_anew() -> None:
    text = context()
    assert text.feed("It is 5 p.m.", cut=True) == [Sentence("It is 5 p.m.", 0)]
    assert text.feed(" on the first clause,", cut=True) == [Sentence("on the first clause,", 13)]
    assert text.feed(" ", cut=True) == []
    assert text.feed(" and the rest. Bye.") == [Sentence("and the rest.", 35)]
    assert text.flush() == [Sentence("Bye.", 49)]


def test_a_code_block_over_many_pieces_is_left_out_and_the_places_stay_right() -> None:
    sent = "Run this:\n```sh\nrm x. Then y.\n```\nThat is all. Bye."
    text = context()
    sentences = [sentence for character in sent for sentence in text.feed(character)] + text.flush()
    assert [sentence.text for sentence in sentences] == ["Run this:", "That is all.", "Bye."]
    for sentence in sentences:
        assert sent[sentence.start_char :].startswith(sentence.text)
    assert text.text == sent


def test_past_the_limit_a_delta_is_refused_whole() -> None:
    text = context(max_chars=10)
    text.feed("12345678")
    with pytest.raises(Refusal) as refusal:
        text.feed("abc")
    assert refusal.value.code == "text_too_long"
    assert text.text == "12345678"
    text.feed("90")
    assert text.flush() == [Sentence("1234567890", 0)]


@given(st.lists(st.text(st.sampled_from('aB1.!? \n\x1c\u200b\u3000é。\U0001f388("“')) | st.text(), max_size=30))
def test_pieces_are_slices_of_what_came_however_it_was_cut(deltas: list[str]) -> None:
    text = context(max_chars=100_000)
    sentences = [sentence for delta in deltas for sentence in text.feed(delta)] + text.flush()
    whole = "".join(deltas)
    assert text.text == whole
    end = 0
    for sentence in sentences:
        assert sentence.start_char >= end
        assert not whole[end : sentence.start_char].strip()
        end = sentence.start_char + len(sentence.text)
        assert whole[sentence.start_char : end] == sentence.text
    assert not whole[end:].strip()
