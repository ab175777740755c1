"""Money, times, dates and units in Spanish, French, Italian, Portuguese and Hindi."""

import pytest
from speech_text.reading import speakable


@pytest.mark.parametrize(
    ("language", "written", "read"),
    [
        ("es", "Son 45 € a las 18:15 o a las 9:05.", "Son 45 euros a las 18 15 o a las 9 y 5."),
        ("es", "$3,50, 1 €, 50 %", "3 dólares con 50, 1 euro, 50 por ciento"),
        ("es", "El Sr. Ruiz, p. ej., vive en EE. UU.", "El señor Ruiz, por ejemplo, vive en Estados Unidos"),
        (
            "es",
            "el 29/11/2026, 5 km/h, -3 °C",
            "el 29 de noviembre de 2026, 5 kilómetros por hora, menos 3 grados Celsius",
        ),
        ("fr", "Il paie 18,4 € à 8 h 30.", "Il paie 18,4 euros à 8 heures 30."),
        ("fr", "M. Dupont, 14h, 12,50 €, n° 5", "monsieur Dupont, 14 heures, 12 euros 50, numéro 5"),
        ("fr", "10-12 personnes, 1 km", "10 à 12 personnes, 1 kilomètre"),
        ("it", "Il sig. Rossi paga 12,50 € alle 14:30.", "Il signor Rossi paga 12 euro e 50 alle 14 30."),
        ("pt-br", "O Sr. Lima paga R$ 3,50 às 14h.", "O senhor Lima paga 3 reais e 50 às 14 horas."),
        ("hi", "डॉ. शर्मा ₹500 और 5 km/h", "डॉक्टर शर्मा 500 रुपए और 5 किलोमीटर प्रति घंटा"),
        ("es", "La IA usa GPU", "La I A usa G P U"),
    ],
)
def test_it_is_read_as_people_say_it(language: str, written: str, read: str) -> None:
    assert speakable(written, language) == read


def test_a_date_that_is_none_is_left_as_it_is() -> None:
    assert speakable("31/02/2026", "es") == "31/02/2026"
