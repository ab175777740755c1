"""Names of currencies and units in each language, from CLDR through babel: none is written by hand.

Only the signs are listed here: which letters or symbols after a number mean which CLDR unit or currency.
"""

from functools import cache

from babel.dates import get_month_names
from babel.numbers import get_currency_name
from babel.units import format_unit

#: babel's locale for each spoken language.
LOCALES = {"en-us": "en_US", "en-gb": "en_GB", "es": "es", "fr": "fr", "it": "it", "pt-br": "pt_BR", "hi": "hi"}

CURRENCY_SIGNS = {
    "$": "USD",
    "US$": "USD",
    "C$": "CAD",
    "A$": "AUD",
    "R$": "BRL",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₩": "KRW",
    "₽": "RUB",
    "₺": "TRY",
    "₿": "XBT",
}
CURRENCY_CODES = ("USD", "EUR", "GBP", "JPY", "INR", "BRL", "CAD", "AUD", "CHF", "CNY", "MXN")

#: Sign after a number → CLDR unit. Signs that are words of a language (`in`, `a`) are left out.
UNITS = {
    "km/h": "speed-kilometer-per-hour",
    "kmh": "speed-kilometer-per-hour",
    "kph": "speed-kilometer-per-hour",
    "mph": "speed-mile-per-hour",
    "m/s": "speed-meter-per-second",
    "°C": "temperature-celsius",
    "℃": "temperature-celsius",
    "°F": "temperature-fahrenheit",
    "℉": "temperature-fahrenheit",
    "°": "angle-degree",
    "km²": "area-square-kilometer",
    "km2": "area-square-kilometer",
    "m²": "area-square-meter",
    "m2": "area-square-meter",
    "m³": "volume-cubic-meter",
    "m3": "volume-cubic-meter",
    "cm²": "area-square-centimeter",
    "sq ft": "area-square-foot",
    "km": "length-kilometer",
    "cm": "length-centimeter",
    "mm": "length-millimeter",
    "µm": "length-micrometer",
    "μm": "length-micrometer",
    "nm": "length-nanometer",
    "m": "length-meter",
    "mi": "length-mile",
    "ft": "length-foot",
    "yd": "length-yard",
    "kg": "mass-kilogram",
    "mg": "mass-milligram",
    "g": "mass-gram",
    "lbs": "mass-pound",
    "lb": "mass-pound",
    "oz": "mass-ounce",
    "ml": "volume-milliliter",
    "mL": "volume-milliliter",
    "cl": "volume-centiliter",
    "l": "volume-liter",
    "L": "volume-liter",
    "gal": "volume-gallon",
    "kB": "digital-kilobyte",
    "KB": "digital-kilobyte",
    "MB": "digital-megabyte",
    "GB": "digital-gigabyte",
    "TB": "digital-terabyte",
    "Hz": "frequency-hertz",
    "kHz": "frequency-kilohertz",
    "MHz": "frequency-megahertz",
    "GHz": "frequency-gigahertz",
    "W": "power-watt",
    "kW": "power-kilowatt",
    "MW": "power-megawatt",
    "kWh": "energy-kilowatt-hour",
    "V": "electric-volt",
    "kcal": "energy-kilocalorie",
    "ms": "duration-millisecond",
    "s": "duration-second",
    "sec": "duration-second",
    "secs": "duration-second",
    "min": "duration-minute",
    "mins": "duration-minute",
    "h": "duration-hour",
    "hr": "duration-hour",
    "hrs": "duration-hour",
    "%": "concentr-percent",
}


@cache
def unit_name(unit: str, plural: bool, language: str) -> str:
    """The unit's long name in the language ("kilometers per hour"), in singular or plural, without a number."""
    count = "5" if plural else "1"
    written = format_unit(int(count), unit, "long", locale=LOCALES[language])
    return " ".join(written.replace(count, "", 1).split()) if count in written else written


@cache
def currency_name(code: str, plural: bool, language: str) -> str:
    """The currency's everyday name ("dollars"): CLDR's without the country, where people leave it out."""
    name = get_currency_name(code, count=5 if plural else 1, locale=LOCALES[language])
    words = name.split()
    if code in ("USD", "BRL", "INR", "JPY", "GBP", "CHF", "CNY", "KRW", "RUB", "TRY", "MXN") and len(words) > 1:
        country_first = language.startswith("en") or language == "hi"
        if not (code == "GBP" and not language.startswith("en")):
            name = words[-1] if country_first else words[0]
    return name.lower()


@cache
def month_name(month: int, language: str) -> str:
    """The month's name, 1 for January."""
    return str(get_month_names("wide", locale=LOCALES[language])[month])
