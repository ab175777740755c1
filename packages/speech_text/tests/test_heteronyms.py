"""Two sounds of one spelling, told apart by their neighbours."""

import pytest
from speech_text import FrontEnd
from speech_text.heteronyms import heteronyms


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("a lead pipe", ["lˈɛd"]),
        ("made of lead", ["lˈɛd"]),
        ("take the lead", []),
        ("a bass guitar and a sea bass", ["bˈAs"]),
        ("a bow tie; she took a bow", ["bˈO", "bˈW"]),
        ("wait a minute for minute details", ["mInˈut"]),
        ("your resume, then resume", ["ɹˈɛzəmˌA"]),
    ],
)
def test_the_neighbours_decide(text: str, phonemes: list[str]) -> None:
    assert [override.phonemes for override in heteronyms(text, "en-us")] == phonemes


def test_other_languages_have_none() -> None:
    assert heteronyms("a lead pipe", "es") == []


def test_it_reaches_the_voice_unless_the_lexicon_says_otherwise(front_end: FrontEnd) -> None:
    assert "lˈɛd pˈIp" in front_end.segments("A lead pipe.")[0].phonemes
    assert "lˈid pˈIp" in front_end.segments("A lead pipe.", lexicon={"lead": "lˈid"})[0].phonemes
