"""The tone engine's front end keeps the promises of the real one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.spelling import Spelling, SpellingFrontEnd
from speech_text import LanguageUnsupported, NothingToSay

FRONT_END = SpellingFrontEnd()


def test_a_sentence_is_a_segment() -> None:
    text = "One is here.  Two! And 3.5 more?"
    segments = FRONT_END.segments(text)
    assert [text[segment.start_char : segment.end_char] for segment in segments] == [
        "One is here.",
        "Two!",
        "And 3.5 more?",
    ]
    assert segments[1].phonemes == "Two!"


@given(st.text(max_size=1500))
def test_segments_fit_the_window_and_hold_every_word(text: str) -> None:
    if not any(character.isalnum() for character in text):
        return
    segments = FRONT_END.segments(text)
    vocabulary = Spelling()
    spoken = ""
    for segment in segments:
        assert 0 < len(segment.phonemes) <= 510
        assert all(1 <= vocabulary[phoneme] <= 177 for phoneme in segment.phonemes)
        for word in segment.words:
            assert text[word.start_char : word.end_char] == word.text
            spoken += segment.phonemes[word.phoneme_start : word.phoneme_end]
    assert [c for c in spoken if c.isalnum()] == [c for c in text if c.isalnum()]


def test_the_lexicon_replaces_words() -> None:
    (segment,) = FRONT_END.segments("I like AWS", lexicon={"AWS": "aws!"})
    assert segment.phonemes == "I like aws!"


@pytest.mark.parametrize("text", ["", "   ", "?!", "😀"])
def test_nothing_to_say_is_an_error(text: str) -> None:
    with pytest.raises(NothingToSay):
        FRONT_END.segments(text)


def test_an_unknown_language_is_an_error() -> None:
    assert FRONT_END.segments("Salut", "fr")
    with pytest.raises(LanguageUnsupported):
        FRONT_END.segments("nuqneH", "tlh")
