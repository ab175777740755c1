"""Names of currencies, units and months come from CLDR in every language."""

import pytest
from speech_text.quantities import LOCALES, UNITS, currency_name, month_name, unit_name


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("en-us", "dollars"),
        ("es", "dólares"),
        ("fr", "dollars"),
        ("it", "dollari"),
        ("pt-br", "dólares"),
        ("hi", "डॉलर"),
    ],
)
def test_dollars_are_named_without_their_country(language: str, name: str) -> None:
    assert currency_name("USD", True, language) == name


def test_one_has_its_own_form() -> None:
    assert currency_name("EUR", False, "es") == "euro"
    assert unit_name("length-kilometer", False, "fr") == "kilomètre"
    assert unit_name("length-kilometer", True, "en-gb") == "kilometres"


@pytest.mark.parametrize("language", LOCALES)
def test_every_sign_has_a_name_without_a_number(language: str) -> None:
    for unit in set(UNITS.values()):
        name = unit_name(unit, True, language)
        assert name
        assert not any(character.isdigit() for character in name)


def test_months_count_from_one() -> None:
    assert month_name(1, "en-us") == "January"
    assert month_name(12, "es") == "diciembre"
