"""English dates and times of day, as people say them.

American dates put the month first and British ones the day; a first number above 12 is a day everywhere.
"""

import re
from collections.abc import Callable
from functools import cache

from num2words import num2words

from speech_text.marks import spell
from speech_text.quantities import month_name
from speech_text.speakable import Rule
from speech_text.traced import Replacement

_MONTHS = {month_name(number, "en-us"): number for number in range(1, 13)}
_MONTHS_SHORT = {name[:3]: name for name in _MONTHS} | {"Sept": "September"}
_HOUR = r"(?<![\d:.,/-])([01]?\d|2[0-4])"
_HALF_DAY = r"([ap])\.?\s?(m)\b(?:\.(?![\"'”’)]*\s*$))?"
_ALL_MONTHS = "|".join(_MONTHS)
_SOME_MONTHS = "|".join(name for name in _MONTHS if name not in ("May", "March"))
_SHORT = "|".join(sorted((name for name in _MONTHS_SHORT if name != "May"), key=len, reverse=True))


def _read_half_day(found: re.Match[str], group: int) -> str:
    """`p.m.` as letters. The pattern leaves its last stop where the sentence ends with it."""
    return spell(found[group].lower() + found[group + 1].lower())


def _clock(found: re.Match[str]) -> str:
    hour, minute, second = int(found[1]), found[2], found[3]
    if second:
        said = f"{hour} {_minute(minute)} and {int(second)} seconds"
    elif minute != "00":
        said = f"{hour} {_minute(minute)}"
    elif found[4]:
        said = str(hour)
    else:
        said = f"{hour} o'clock" if 1 <= hour <= 12 else f"{hour} hundred" if hour else "midnight"
    return f"{said} {_read_half_day(found, 4)}" if found[4] else said


def _minute(minute: str) -> str:
    return minute if minute[0] != "0" else f"oh {minute[1]}" if minute != "00" else "hundred"


def _hour_only(found: re.Match[str]) -> str:
    return f"{int(found[1])} {_read_half_day(found, 2)}"


def _hours(found: re.Match[str]) -> str:
    return f"{found[1]} to {int(found[2])} {_read_half_day(found, 3)}"


def _date(year: str, month: int, day: int, language: str) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    if len(year) == 2:
        year = f"20{year}"
    name = month_name(month, language)
    if language == "en-gb":
        return f"{_ordinal(day)} of {name}, {year}" if year else f"{_ordinal(day)} of {name}"
    return f"{name} {_ordinal(day)}, {year}" if year else f"{name} {_ordinal(day)}"


@cache
def _ordinal(number: int) -> str:
    return str(num2words(number, to="ordinal_num"))


def _numeric_date(language: str) -> Callable[[re.Match[str]], str | None]:
    def read(found: re.Match[str]) -> str | None:
        first, second = int(found[1]), int(found[3])
        day_first = language == "en-gb" or first > 12
        day, month = (first, second) if day_first else (second, first)
        return _date(found[4], month, day, language)

    return read


def _iso_date(language: str) -> Callable[[re.Match[str]], str | None]:
    return lambda found: _date(found[1], int(found[2]), int(found[3]), language)


def _month_day(found: re.Match[str]) -> str | None:
    month = _MONTHS_SHORT.get(found[1].rstrip("."), found[1])
    return f"{month} {_ordinal(int(found[2]))}" if 1 <= int(found[2]) <= 31 else None


def _day_month(found: re.Match[str]) -> str | None:
    month = _MONTHS_SHORT.get(found[2].rstrip("."), found[2])
    return f"{_ordinal(int(found[1]))} of {month}" if 1 <= int(found[1]) <= 31 else None


def _month_year(found: re.Match[str]) -> str:
    return f"{_MONTHS_SHORT[found[1]]} {found[2]}"


def _rule(name: str, pattern: str, replacement: Replacement) -> Rule:
    return Rule(name, re.compile(pattern), replacement)


def date_rules(language: str) -> tuple[Rule, ...]:
    """Dates and times for `en-us` or `en-gb`."""
    return (
        _rule("iso date", r"(?<![\w/-])(\d{4})-(\d{2})-(\d{2})(?![\w/-])", _iso_date(language)),
        _rule(
            "numeric date",
            r"(?<![\w/.-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?![\w/]|[.-]\d)",
            _numeric_date(language),
        ),
        _rule(
            "month day",
            rf"\b({_SOME_MONTHS}|(?:{_SHORT})\b\.?) (\d{{1,2}})(?![\d:.,]*\d|\w)(?! ?%)",
            _month_day,
        ),
        _rule("month day year", rf"\b({_ALL_MONTHS}|(?:{_SHORT})\b\.?) (\d{{1,2}})(?=,? \d{{4}}\b)", _month_day),
        _rule(
            "day month", rf"\b(\d{{1,2}})(?:st|nd|rd|th)? ({_ALL_MONTHS}|(?:{_SHORT})\b\.?)(?! \d{{1,2}}\b)", _day_month
        ),
        _rule("month year", rf"\b({_SHORT})\.? (\d{{4}})\b", _month_year),
        _rule("clock", rf"{_HOUR}:([0-5]\d)(?::([0-5]\d))?(?![\d:])(?:\s?{_HALF_DAY})?", _clock),
        _rule("hours", rf"(?<![\d:.,/-])(\d{{1,2}})\s?[-–—]\s?(\d{{1,2}})\s?{_HALF_DAY}", _hours),
        _rule("hour", rf"{_HOUR}\s?{_HALF_DAY}", _hour_only),
        _rule("half day", rf"(?<=\d )(?<!\w){_HALF_DAY}", lambda found: _read_half_day(found, 1)),
    )
