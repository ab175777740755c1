"""English as people say it; every row is something that misaki reads wrongly as it stands."""

import pytest
from speech_text.reading import speakable


@pytest.mark.parametrize(
    ("written", "read"),
    [
        # money
        ("$3.50, £2.05, €1, $0.99", "3 dollars and 50 cents, 2 pounds and 5 pence, 1 euro, 99 cents"),
        ("$1.2M or $5k or $2.1bn", "1.2 million dollars or 5 thousand dollars or 2.1 billion dollars"),
        ("$10-20 and -$5", "10 to 20 dollars and minus 5 dollars"),
        ("45 USD or 12 €", "45 dollars or 12 euros"),
        # numbers
        ("10-12 people in 1999–2005", "10 to 12 people in 1999 to 2005"),
        ("1/2 cup, 3/4, 2 1/2 and 1½", "one half cup, 3 quarters, 2 and a half and 1 and a half"),
        ("a 8/10 score, 24/7", "a 8 out of 10 score, 24/7"),
        ("v3.12.1, Python 3.12, 3.0", "version 3 point 12 point 1, Python 3 point 12, 3 point 0"),
        ("host 192.168.0.1 up", "host 192 dot 168 dot 0 dot 1 up"),
        ("room 007 is #1, ~5 left", "room 0 0 7 is number 1, about 5 left"),
        ("order 4821973650", "order 4 8 2, 1 9 7, 3 6 5 0"),
        ("16:9 screens", "16 to 9 screens"),
        ("-3 or +5", "minus 3 or plus 5"),
        # phones
        ("Call 555-0123", "Call 5 5 5, 0 1 2 3"),
        ("+1 (415) 555-0123", "plus 1, 4 1 5, 5 5 5, 0 1 2 3"),
        ("+44 20 7946 0958", "plus 4 4, 2 0, 7 9 4 6, 0 9 5 8"),
        # units
        ("5 km/h at -3 °C", "5 kilometers per hour at minus 3 degrees Celsius"),
        ("5kg, 1 kg, 70°F, 3.5GHz", "5 kilograms, 1 kilogram, 70 degrees Fahrenheit, 3.5 gigahertz"),
        ("100 MB/s and 60 mi/hour", "100 megabytes per second and 60 miles per hour"),
        ("5x7 cm, 6'2\", 12.5%", "5 by 7 centimeters, 6 foot 2, 12.5 percent"),
        ("the '90s and her 30s", "the '90s and her 30s"),
        ("5%-10% or 2-3 km", "5 to 10 percent or 2 to 3 kilometers"),
        # signs
        ("x = 5 × 3, 5 > 3, A → B", "x equals 5 times 3, 5 is greater than 3, A to B"),
        ("and/or, yes/no", "and or, yes no"),
        ("3 x 2TB at 98.6°F/37°C", "3 times 2 terabytes at 98.6 degrees Fahrenheit 37 degrees Celsius"),
        ("room 12B, 5' 10\", 7B parameters", "room 12B, 5 foot 10, 7 billion parameters"),
        ("a^2 + 3², 10^9", "a squared + 3 squared, 10 to the power of 9"),
        ("ISBN 978-3-16-148410-0", "ISBN 9 7 8, 3, 1 6, 1 4 8 4 1 0, 0"),
        ("CO2 and MP3", "C O 2 and M P 3"),
    ],
)
def test_it_is_read_as_people_say_it(written: str, read: str) -> None:
    assert speakable(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("3 km, 2 l", "3 kilometres, 2 litres"),
        ("£3.01", "3 pounds and 1 penny"),
        ("50%", "50 per cent"),
    ],
)
def test_british_english_has_its_own(written: str, read: str) -> None:
    assert speakable(written, "en-gb") == read
