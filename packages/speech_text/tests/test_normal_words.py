"""Abbreviations, acronyms and roman numerals in English."""

import pytest
from speech_text import FrontEnd
from speech_text.normal_words import ordinal, roman_value
from speech_text.reading import speakable


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Go to 12 Elm St. and wait.", "Go to 12 Elm Street and wait."),
        ("St. Ives St. is in Mt. Airy.", "Saint Ives Street is in Mount Airy."),
        ("at 12 Oak Dr. today, Dr. Lee", "at 12 Oak Drive today, Dr. Lee"),
        ("No. 5, Fig. 3, pp. 4, vol. II", "number 5, figure 3, pages 4, volume 2"),
        ("No. I can't.", "No. I can't."),
        ("e.g. a mango, i.e. fruit, etc.", "for example, a mango, that is, fruit, et cetera."),
        ("cats vs. dogs w/ tails", "cats versus dogs with tails"),
        ("Acme Inc. and Foo Corp.", "Acme Incorporated and Foo Corporation."),
        ("AWS and IBM agree.", "A W S and I B M agree."),
        ("NASA IT, the US, an API", "NASA I T, the U S, an A P I"),
        ("DO NOT TOUCH IT", "DO NOT TOUCH IT"),
        ("in the U.S.", "in the U S."),
        ("Henry VIII and Elizabeth I.", "Henry the 8th and Elizabeth the 1st."),
        ("World War II, Chapter IV", "World War 2, Chapter 4"),
        ("I, Claudius. Mix it.", "I, Claudius. Mix it."),
    ],
)
def test_it_is_read_as_people_say_it(written: str, read: str) -> None:
    assert speakable(written) == read


@pytest.mark.parametrize(("numeral", "value"), [("I", 1), ("IV", 4), ("IX", 9), ("XIV", 14), ("LVIII", 58), ("XC", 90)])
def test_a_roman_numeral_has_its_value(numeral: str, value: int) -> None:
    assert roman_value(numeral) == value


@pytest.mark.parametrize(
    ("number", "written"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st"), (112, "112th")]
)
def test_ordinals_end_as_they_should(number: int, written: str) -> None:
    assert ordinal(number) == written


def test_letters_are_said_by_name(front_end: FrontEnd) -> None:
    phonemes = front_end.segments("AWS at 9 a.m.")[0].phonemes
    assert phonemes == "ˌAdˌʌbᵊljuˈɛs æt nˈIn ˌAˈɛm."
