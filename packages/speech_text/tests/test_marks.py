"""A given pronunciation goes round the normaliser and comes back in its place."""

from speech_text.marks import mark, render, spell, unmark
from speech_text.traced import Traced


def test_words_are_put_aside_and_found_again() -> None:
    marked = mark(Traced.of("Say [AWS](/a/) and St and [so](+1)."), {"St": "b"}, "es")
    assert not set("AWSt") & set(marked.text.text.replace("Say", ""))
    text, overrides = unmark(marked, marked.text)
    assert text.text == "Say AWS and St and so."
    assert [(text.text[one.start : one.end], one.phonemes, one.stress) for one in overrides] == [
        ("AWS", "a", None),
        ("St", "b", None),
        ("so", None, 1.0),
    ]
    assert text.range(4, 7) == (5, 8)


def test_letters_are_marked_by_the_normaliser() -> None:
    marked = mark(Traced.of("x"), {}, "es")
    text, (letters,) = unmark(marked, Traced.of(f"the {spell('AWS')} now"))
    assert text.text == "the A W S now"
    assert letters.letters
    assert text.text[letters.start : letters.end] == "A W S"


def test_rendering_gives_the_inline_syntax_back() -> None:
    marked = mark(Traced.of("[a](/b/) c [d](-0.5)"), {}, "es")
    text, overrides = unmark(marked, marked.text)
    assert render(text.text, overrides) == "[a](/b/) c [d](-0.5)"
