"""English before pronunciation: what misaki reads wrongly, rewritten so that it reads it right.

misaki says plain numbers, decimals, years and ordinals well, so digits stay digits. The rules are a table in the order
in which they are applied; each looks at one kind of thing. What was heard wrong without them is in the tests.
"""

import re
from collections.abc import Callable
from functools import cache

from num2words import num2words

from speech_text.normal_dates import date_rules
from speech_text.normal_web import web_rules
from speech_text.normal_words import abbreviation_rules, acronym_rules, roman_rules
from speech_text.quantities import CURRENCY_CODES, CURRENCY_SIGNS, UNITS, currency_name, unit_name
from speech_text.speakable import Rule
from speech_text.traced import Replacement

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_MAGNITUDES = {
    "k": "thousand",
    "K": "thousand",
    "m": "million",
    "M": "million",
    "mn": "million",
    "mio": "million",
    "bn": "billion",
    "b": "billion",
    "B": "billion",
    "tn": "trillion",
    "T": "trillion",
}
_MAGNITUDE = r"(?:thousand|million|billion|trillion|bn|mn|tn|mio|[kKmMbBT])"
#: A number with more digits than this is not one word any more.
_LONGEST_NAME = 24
_BEFORE_DECADE = re.compile(r"(?:\b(?:the|early|mid|late|his|her|my|our|your|their|its)[ -]|['’])$", re.IGNORECASE)


def _money(language: str) -> Callable[[re.Match[str]], str]:
    def read(found: re.Match[str]) -> str:
        minus, sign, amount, magnitude = found[1], found[2], found[3], found[4]
        code = CURRENCY_SIGNS[sign]
        minus = "minus " if minus else ""
        if magnitude:
            magnitude = _MAGNITUDES.get(magnitude, magnitude)
            return f"{minus}{amount} {magnitude} {currency_name(code, True, language)}"
        return minus + _amount(amount, code, language)

    return read


def _amount(amount: str, code: str, language: str) -> str:
    whole, _, cents = amount.partition(".")
    plural = currency_name(code, whole != "1", language)
    if len(cents) != 2:
        return f"{amount} {currency_name(code, amount != '1', language)}"
    small = {"GBP": ("penny", "pence")}.get(code, ("cent", "cents"))[cents != "01"]
    if not int(cents):
        return f"{whole} {plural}"
    if whole in ("", "0"):
        return f"{int(cents)} {small}"
    return f"{whole} {plural} and {int(cents)} {small}"


def _money_after(language: str) -> Callable[[re.Match[str]], str]:
    return lambda found: _amount(found[1], CURRENCY_SIGNS[found[2]], language)


def _money_range(language: str) -> Callable[[re.Match[str]], str]:
    def read(found: re.Match[str]) -> str:
        magnitude = _MAGNITUDES.get(found[4] or "", found[4] or "")
        name = currency_name(CURRENCY_SIGNS[found[1]], True, language)
        return " ".join(f"{found[2]} to {found[3]} {magnitude} {name}".split())

    return read


def _money_code(language: str) -> Callable[[re.Match[str]], str]:
    def read(found: re.Match[str]) -> str:
        amount, code = (found[1], found[2]) if found[1] else (found[4], found[3])
        return _amount(amount, code, language)

    return read


def _unit(language: str) -> Callable[[re.Match[str]], str | None]:
    def read(found: re.Match[str]) -> str | None:
        number, sign = found[1], found[2]
        name = unit_name(UNITS[sign], number not in ("1", "-1"), language)
        if sign == "%" and language == "en-us":
            name = "percent"
        if sign == "s" and _names_decade(found):
            return None
        if found[3]:
            name = f"{name} per {'second' if found[3] == '/s' else found[3][1:]}"
        return f"{number} {name}"

    return read


def _names_decade(found: re.Match[str]) -> bool:
    """`the 90s`, `her 30s`, `1990s`: no seconds."""
    if not found[0].endswith("0s"):
        return False
    return len(found[1]) == 4 or _BEFORE_DECADE.search(found.string, 0, found.start()) is not None


def _phone(found: re.Match[str]) -> str:
    groups = re.findall(r"\d+", found[0])
    said = ", ".join(" ".join(group) for group in groups)
    return f"plus {said}" if found[0].startswith("+") else said


def _digits(found: re.Match[str]) -> str | tuple[str | tuple[int, int], ...]:
    """A long number that is a name, digit by digit in groups of three, the last of up to four.

    One that would fill a breath is a row of words, each digit its own.
    """
    digits = found[0]
    if len(digits) > _LONGEST_NAME:
        return tuple(part for i in range(*found.span()) for part in ((i, i + 1), " "))
    groups = []
    while len(digits) > 4:
        groups.append(digits[:3])
        digits = digits[3:]
    return ", ".join(" ".join(group) for group in (*groups, digits))


def _fraction(found: re.Match[str]) -> str | None:
    whole, top, bottom = found[1], int(found[2]), int(found[3])
    if not 0 < top < bottom:
        return None
    if bottom == 2:
        part = "half"
    elif bottom == 4:
        part = "quarter"
    else:
        part = str(num2words(bottom, to="ordinal"))
    if top > 1:
        said = f"{top} {part}s"
    elif whole:
        said = f"a {part}"
    else:
        said = f"one {part}"
    return f"{whole.strip()} and {said}" if whole else said


def _version(found: re.Match[str]) -> str:
    parts = found[2].split(".")
    word = found[1] or ""
    if word in ("v", "V", "v.", "ver."):
        word = "version "
    joiner = " dot " if len(parts) == 4 and all(len(part) <= 3 for part in parts) and not word else " point "
    return word + joiner.join(parts)


def _filled(template: str) -> Callable[[re.Match[str]], str]:
    """A replacement written as `re.Match.expand` wants it."""
    return lambda found: found.expand(template)


def _rule(name: str, pattern: str, replacement: Replacement) -> Rule:
    return Rule(name, re.compile(pattern), replacement)


_SIGNS = "|".join(re.escape(sign) for sign in sorted(CURRENCY_SIGNS, key=len, reverse=True))
_UNIT_SIGNS = "|".join(re.escape(sign) for sign in sorted(UNITS, key=len, reverse=True))
_CODES = "|".join(CURRENCY_CODES)
_INCH = r"(?:[\"″”]|'')"
#: `B` alone is as often the letter of a room.
_LETTERED = r"bn|mn|tn|mio|[kKM]|B(?= (?:param|people|token|user|view|dollar|row))"
_PRODUCTS = "[Vv]ersions?|[Rr]elease|Python|Node(?:\\.js)?|iOS|macOS|Android|Java|Ubuntu|PHP|Ruby|Go|Rust|CUDA"


@cache
def english_rules(language: str) -> tuple[Rule, ...]:
    """The table for `en-us` or `en-gb`."""
    return (
        *web_rules("en"),
        _rule("vulgar fraction", "(?<=\\d)(?=[¼½¾⅓⅔⅛⅜⅝⅞])", " "),
        _rule("vulgar fraction", "[¼½¾⅐-⅞]", lambda found: _VULGAR.get(found[0])),
        _rule(
            "phone",
            r"(?<![\w.,/-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)[ .-]?|\b\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])",
            _phone,
        ),
        _rule("phone", r"(?<![\w.,/-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}(?![\w-])", _phone),
        _rule("phone", r"(?<![\w.,/-])\+\d{1,3}(?:[ .-]\(?\d{1,5}\)?){2,5}(?![\w-])", _phone),
        _rule("phone", r"(?<![\w.,/-])(?:555-\d{4}|\d{3}-0\d{3})(?![\w-])", _phone),
        _rule("phone", r"(?<=[Cc]all )\d{3}-\d{4}(?![\w-])|(?<=[Dd]ial )\d{3}-\d{4}|(?<=[Tt]ext )\d{3}-\d{4}", _phone),
        *date_rules(language),
        _rule("groups", r"(?<![\w.,/-])\d{1,5}(?:-\d{1,7}){2,4}(?![\w-])", _phone),
        _rule(
            "money range",
            rf"({_SIGNS})({_NUMBER})\s?[-–—]\s?(?:\1)?({_NUMBER})(?:\s?({_MAGNITUDE})\b)?",
            _money_range(language),
        ),
        _rule("money", rf"(?<![\w])([-−])?({_SIGNS})\s?({_NUMBER})(?:\s?({_MAGNITUDE})\b)?", _money(language)),
        _rule(
            "money",
            rf"(?<![\w.,])({_NUMBER})\s?({_SIGNS})(?!\w)",
            _money_after(language),
        ),
        _rule("money", rf"(?<![\w.,])(?:({_NUMBER})\s?({_CODES})|({_CODES})\s?({_NUMBER}))\b", _money_code(language)),
        _rule(
            "percent range",
            rf"(?<![\w.,])({_NUMBER})\s?%?\s?[-–—]\s?({_NUMBER})\s?%",
            _filled(r"\1 to \2 percent"),
        ),
        _rule(
            "feet",
            r"(?<![\w.,'])(\d)['′](?:(\d{1,2})(?:[\"″”]|'')?|\s(\d{1,2})(?:[\"″”]|''))(?!\w)",
            _filled(r"\1 foot \2\3"),
        ),
        _rule("inches", rf"(?<![\w.,])({_NUMBER})″", _filled(r"\1 inches")),
        _rule("size", rf"(?<![\w.,])({_NUMBER})[x×](?={_NUMBER}(?![A-Za-z]*\d))", _filled(r"\1 by ")),
        _rule(
            "size",
            rf"(?<![\w.,])({_NUMBER}) [x×] (?={_NUMBER}\s?(?:mm|cm|m|km|ft|in|inches|feet)(?!\w))",
            _filled(r"\1 by "),
        ),
        _rule(
            "unit range",
            rf"(?<![\w.,])({_NUMBER})\s?[-–—]\s?(?=(?:{_NUMBER})\s?(?:{_UNIT_SIGNS})(?![\w/]))",
            _filled(r"\1 to "),
        ),
        _rule(
            "unit",
            rf"(?<![\w.,])([-−]?(?:{_NUMBER}))[\s-]?({_UNIT_SIGNS})(/(?:s|day|week|month|year|hour|person)\b)?(?![\w²³°]|/[^\d\s])",
            _unit(language),
        ),
        _rule("times", rf"(?<=\d) [x×] (?={_NUMBER})", " times "),
        _rule(
            "magnitude",
            rf"(?<![\w.,])({_NUMBER})(?<!\b3)(?:(?<!\b[2458])|(?!K))({_LETTERED})(?!\w)",
            lambda found: f"{found[1]} {_MAGNITUDES[found[2]]}",
        ),
        _rule(
            "whole and fraction",
            r"(?<![\w/.-])(\d+ )?(\d{1,2})[/⁄](2|3|4|5|6|8|16|32|100)(?![\w/]|[.,]\d)(?!s\b)",
            _fraction,
        ),
        _rule("out of", r"(?<![\w/.-])(\d+)/(10|100)(?![\w/]|[.,]\d)", _filled(r"\1 out of \2")),
        _rule("version", r"(?<![\w.])(v\.? ?|V|ver\. ?)?(\d+(?:\.\d+){2,5})(?![\w])", _version),
        _rule("version", r"(?<!slash )\b(v)(\d+(?:\.\d+)*)\b", _version),
        _rule("version", rf"\b((?:{_PRODUCTS}) )(\d+\.\d+)(?![\w.]\d)", _version),
        _rule("point zero", r"(?<![\w.,])(\d+)\.(0+)(?![\w.])", lambda found: f"{found[1]} point {' '.join(found[2])}"),
        _rule(
            "range",
            rf"(?<![\w.,/-])({_NUMBER})\s?[-–—]\s?({_NUMBER})(?![\w/-]|[.,]\d)",
            _filled(r"\1 to \2"),
        ),
        _rule("decade range", r"\b(\d{4}s)[-–](\d{4}s)\b", _filled(r"\1 to \2")),
        _rule("minus", rf"(?<![\w)\]])[-−](?=(?:{_NUMBER}))", "minus "),
        _rule("plus", rf"(?<![\w)\]])\+(?=(?:{_NUMBER}))", "plus "),
        _rule("about", r"(?<!\w)[~≈]\s?(?=\d)", "about "),
        _rule("number sign", r"(?<!\w)#(?=\d)", "number "),
        _rule("code with zeros", r"(?<![\w.,:/-])0\d+(?![\w.,:/-]*\d)", lambda found: " ".join(found[0])),
        _rule("long number", r"(?<![\w.,-])\d{10,}(?![\w,-])", _digits),
        _rule("ratio", r"(?<![\w:])(\d+):(\d+)(?![\w:])", _filled(r"\1 to \2")),
        *abbreviation_rules(),
        *roman_rules(),
        *acronym_rules(),
        _rule("operator", r"\s*×\s*", " times "),
        _rule("operator", r"\s*÷\s*", " divided by "),
        _rule("operator", r"\s*±\s*", " plus or minus "),
        _rule("operator", r"(?<=\w)\s*(?:≠|!=)\s*(?=\w)", " is not equal to "),
        _rule("operator", r"(?<=\w)\s*(?:≤|<=)\s*(?=\w)", " is at most "),
        _rule("operator", r"(?<=\w)\s*(?:≥|>=)\s*(?=\w)", " is at least "),
        _rule("operator", r"(?<=\w)\s*≈\s*(?=\w)", " is about "),
        _rule("operator", r"(?<=\w)\s*={1,3}\s*(?=[\w-])", " equals "),
        _rule("operator", r"(?<=\d)\s*<\s*(?=\d)", " is less than "),
        _rule("operator", r"(?<=\d)\s*>\s*(?=\d)", " is greater than "),
        _rule("operator", r"(?<=\d)\s*\^\s*(?=\d)", " to the power of "),
        _rule("operator", r"(?<=\d)\s+[-−]\s+(?=\d)", " minus "),
        _rule("arrow", r"\s*(?:→|⇒|->|=>)\s*", " to "),
        _rule("power", r"(?<=\w)(?:\^2(?!\d)|²)", " squared"),
        _rule("power", r"(?<=\w)(?:\^3(?!\d)|³)", " cubed"),
        _rule("and or", r"\band/or\b", "and or"),
        _rule("slash", r"(?<=[^\W\d_])\s*/\s*(?=[^\W\d_]{2}|\d)", " "),
        _rule("trade mark", r"[™®©℠]", " "),
        _rule("double dash", r"\s*--+\s*", " — "),
    )


_VULGAR = {
    "¼": "1/4",
    "½": "1/2",
    "¾": "3/4",
    "⅓": "1/3",
    "⅔": "2/3",
    "⅕": "1/5",
    "⅖": "2/5",
    "⅗": "3/5",
    "⅘": "4/5",
    "⅙": "1/6",
    "⅚": "5/6",
    "⅛": "1/8",
    "⅜": "3/8",
    "⅝": "5/8",
    "⅞": "7/8",
}
