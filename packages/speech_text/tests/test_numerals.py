"""Written numbers in words, with each language's marks for thousands and decimals."""

import pytest
from speech_text.numerals import in_words


@pytest.mark.parametrize(
    ("language", "written", "words"),
    [
        ("es", "45", "cuarenta y cinco"),
        ("es", "1.234", "mil doscientos treinta y cuatro"),
        ("es", "3,5", "tres coma cinco"),
        ("es", "3.5", "tres coma cinco"),
        ("fr", "18,4", "dix-huit virgule quatre"),
        ("fr", "1 234,05", "mille deux cent trente-quatre virgule zéro cinq"),
        ("it", "12.000", "dodicimila"),
        ("pt-br", "1.234", "mil duzentos e trinta e quatro"),
        ("pt-br", "0,123", "zero vírgula um dois três"),
        ("hi", "1,23,456", "123456"),
        ("hi", "3.5", "3 दशमलव 5"),
        ("es", "007", "cero cero siete"),
    ],
)
def test_a_number_is_put_in_words(language: str, written: str, words: str) -> None:
    assert in_words(written, language) == words


def test_a_number_too_long_to_be_a_quantity_is_said_digit_by_digit() -> None:
    assert in_words("1234567890123", "es").split()[:3] == ["uno", "dos", "tres"]
