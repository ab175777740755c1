"""Spanish, French, Italian, Brazilian Portuguese and Hindi before pronunciation.

espeak's own reading of numbers ends at the first decimal point or thousands mark, so the pronouncer spells numbers
(see `numerals`); this step deals with what stands around them: money, times, dates, units, ranges and abbreviations.
Names of currencies, units and months come from CLDR.
"""

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from babel.dates import format_date
from babel.units import format_unit

from speech_text.marks import spell
from speech_text.normal_web import web_rules
from speech_text.quantities import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    LOCALES,
    UNITS,
    currency_name,
    unit_name,
)
from speech_text.speakable import Rule


@dataclass(frozen=True)
class _Tongue:
    """The little words of one language.

    `cents` joins whole and hundredths ("3 euros con 50"); `past` joins an hour and its first minutes;
    `hour` tells that an hour is written with a letter (`14h`).
    """

    primary: str
    minus: str
    plus: str
    to: str
    cents: str
    past: str
    number: str
    about: str
    times: str
    equals: str
    by: str
    decimal: str = ","
    group: str = "."
    hour: bool = False
    abbreviations: tuple[tuple[str, str], ...] = ()


_TONGUES = {
    "es": _Tongue(
        "es",
        "menos",
        "más",
        "a",
        "con",
        "y",
        "número",
        "unos",
        "por",
        "es igual a",
        "por",
        abbreviations=(
            (r"\bSr\.", "señor"),
            (r"\bSra\.", "señora"),
            (r"\bSrta\.", "señorita"),
            (r"\bSres\.", "señores"),
            (r"\bDr\.", "doctor"),
            (r"\bDra\.", "doctora"),
            (r"\bProf\.", "profesor"),
            (r"\bLic\.", "licenciado"),
            (r"\bIng\.", "ingeniero"),
            (r"\bD\.(?= [A-ZÁÉÍÓÚ])", "don"),
            (r"\bD[.ª]ª?\.?(?= [A-ZÁÉÍÓÚ])", "doña"),
            (r"\bEE\.\s?UU\.?", "Estados Unidos"),
            (r"\bp\.\s?ej\.", "por ejemplo"),
            (r"\betc\.?(?!\w)", "etcétera"),
            (r"\b[Nn]úm\.", "número"),
            (r"\b[Pp]ág\.", "página"),
            (r"\b[Pp]ágs\.", "páginas"),
            (r"\bAvda?\.", "avenida"),
            (r"\bC/", "calle "),
            (r"\b[Tt]el\.", "teléfono"),
            (r"\b[Aa]prox\.", "aproximadamente"),
            (r"\bUd\.", "usted"),
            (r"\bUds\.", "ustedes"),
            (r"\b[Nn]\.?º", "número"),
        ),
    ),
    "fr": _Tongue(
        "fr",
        "moins",
        "plus",
        "à",
        "",
        "",
        "numéro",
        "environ",
        "fois",
        "égale",
        "sur",
        group=" ",
        hour=True,
        abbreviations=(
            (r"\bM\.(?= [A-ZÀ-Ý])", "monsieur"),
            (r"\bMM\.", "messieurs"),
            (r"\bMmes(?!\w)", "mesdames"),
            (r"\bMme\.?(?!\w)", "madame"),
            (r"\bMlle\.?(?!\w)", "mademoiselle"),
            (r"\bMe(?= [A-ZÀ-Ý])", "maître"),
            (r"\bDr\.?(?= [A-ZÀ-Ý])", "docteur"),
            (r"\bPr\.?(?= [A-ZÀ-Ý])", "professeur"),
            (r"\bp\.\s?ex\.", "par exemple"),
            (r"\betc\.?(?!\w)", "et cetera"),
            (r"\bc\.-à-d\.", "c'est-à-dire"),
            (r"\bav\.(?= J)", "avant"),
            (r"\bapr\.(?= J)", "après"),
            (r"\bJ\.-C\.", "Jésus-Christ"),
            (r"\bav\.(?= )", "avenue"),
            (r"\bbd\.?(?= [A-ZÀ-Ý])", "boulevard"),
            (r"\b[Nn]°\s?(?=\d)", "numéro "),
            (r"\b[Tt]él\.", "téléphone"),
            (r"\benv\.", "environ"),
            (r"\bSt(?=[ -][A-ZÀ-Ý])", "Saint"),
            (r"\bSte(?=[ -][A-ZÀ-Ý])", "Sainte"),
            (r"\bp\.(?= ?\d)", "page"),
        ),
    ),
    "it": _Tongue(
        "it",
        "meno",
        "più",
        "a",
        "e",
        "e",
        "numero",
        "circa",
        "per",
        "uguale a",
        "per",
        abbreviations=(
            (r"\b[Ss]ig\.ra\.?", "signora"),
            (r"\b[Ss]ig\.na\.?", "signorina"),
            (r"\b[Ss]igg\.", "signori"),
            (r"\b[Ss]ig\.", "signor"),
            (r"\b[Dd]ott\.ssa", "dottoressa"),
            (r"\b[Dd]ott\.", "dottor"),
            (r"\b[Dd]r\.", "dottor"),
            (r"\b[Pp]rof\.ssa", "professoressa"),
            (r"\b[Pp]rof\.", "professor"),
            (r"\b[Ii]ng\.", "ingegner"),
            (r"\b[Aa]vv\.", "avvocato"),
            (r"\becc\.?(?!\w)", "eccetera"),
            (r"\bp\.\s?es\.", "per esempio"),
            (r"\b[Pp]ag\.", "pagina"),
            (r"\bV\.le", "viale"),
            (r"\bP\.zza", "piazza"),
            (r"\b[Tt]el\.", "telefono"),
            (r"\ba\.\s?C\.", "avanti Cristo"),
            (r"\bd\.\s?C\.", "dopo Cristo"),
            (r"\bn\.(?= ?\d)", "numero"),
            (r"\bS\.(?= [A-Z])", "San"),
        ),
    ),
    "pt-br": _Tongue(
        "pt",
        "menos",
        "mais",
        "a",
        "e",
        "e",
        "número",
        "cerca de",
        "vezes",
        "é igual a",
        "por",
        hour=True,
        abbreviations=(
            (r"\bSr\.", "senhor"),
            (r"\bSra\.", "senhora"),
            (r"\bSrta\.", "senhorita"),
            (r"\bSrs\.", "senhores"),
            (r"\bDr\.", "doutor"),
            (r"\bDra\.", "doutora"),
            (r"\bProfª?a?\.", "professora"),
            (r"\bProf\.", "professor"),
            (r"\bEUA\b", "Estados Unidos"),
            (r"\bp\.\s?ex\.", "por exemplo"),
            (r"\betc\.?(?!\w)", "et cétera"),
            (r"\b[Pp]ág\.", "página"),
            (r"\bAv\.", "avenida"),
            (r"\bR\.(?= [A-ZÀ-Ý])", "rua"),
            (r"\b[Tt]el\.", "telefone"),
            (r"\b[Nn]\.?º(?= ?\d)", "número"),
            (r"\b[Aa]prox\.", "aproximadamente"),
            (r"\bLtda\.", "limitada"),
        ),
    ),
    "hi": _Tongue(
        "hi",
        "माइनस",
        "प्लस",
        "से",
        "और",
        "बजकर",
        "नंबर",
        "लगभग",
        "गुणा",
        "बराबर",
        "गुणा",
        decimal=".",
        group=",",
        abbreviations=(
            (r"डॉ\.", "डॉक्टर"),
            (r"प्रो\.", "प्रोफ़ेसर"),
            (r"पं\.", "पंडित"),
            (r"रु\.", "रुपये"),
            (r"कि\.\s?मी\.", "किलोमीटर"),
            (r"कि\.\s?ग्रा\.", "किलोग्राम"),
            (r"से\.\s?मी\.", "सेंटीमीटर"),
        ),
    ),
}
#: Signs that are words or letters of their own in these languages.
_AMBIGUOUS_UNITS = frozenset(
    ("h", "hr", "hrs", "s", "sec", "secs", "mins", "m", "l", "L", "V", "W", "mi", "g", "gal", "kmh", "lbs")
)
_SPELLED = re.compile(r"(?<![\w.'’&/-])([A-Z]{2,5})(?![\w’']|\.\w)")
_HAS_VOWEL = re.compile("[AEIOUÁÉÍÓÚ]")
_ALWAYS_LETTERS = frozenset(
    [
        "AI",
        "IA",
        "AWS",
        "API",
        "UE",
        "EU",
        "USB",
        "ONU",
        "IVA",
        "CEO",
        "ATM",
        "GPU",
        "CPU",
        "URL",
        "ID",
        "TV",
        "CD",
        "UI",
        "UX",
    ]
)


def world_rules(language: str) -> tuple[Rule, ...]:
    """The table for `es`, `fr`, `it`, `pt-br` or `hi`."""
    return _world_rules(language)


@cache
def _world_rules(language: str) -> tuple[Rule, ...]:
    tongue = _TONGUES[language]
    decimal, group = re.escape(tongue.decimal), re.escape(tongue.group)
    number = rf"(?:\d{{1,3}}(?:{group}\d{{2,3}})+(?:{decimal}\d+)?|\d+(?:[.,]\d+)?)"
    signs = "|".join(re.escape(sign) for sign in sorted(CURRENCY_SIGNS, key=len, reverse=True))
    units = "|".join(re.escape(sign) for sign in sorted(UNITS, key=len, reverse=True) if sign not in _AMBIGUOUS_UNITS)
    glued = "|".join(("m", "l", "L", "V", "W", "g", "s"))
    codes = "|".join(CURRENCY_CODES)

    def amount(text: str, code: str) -> str:
        whole, _, cents = text.partition(tongue.decimal)
        if len(cents) == 2:
            return " ".join(
                f"{whole} {currency_name(code, whole != '1', language)} {tongue.cents} {int(cents)}".split()
            )
        return f"{text} {currency_name(code, text != '1', language)}"

    def unit(found: re.Match[str]) -> str:
        return f"{found[1]} {unit_name(UNITS[found[2]], found[1] != '1', language)}"

    def date(found: re.Match[str]) -> str | None:
        return _date(int(found[3]), int(found[2]), int(found[1]), language)

    def iso_date(found: re.Match[str]) -> str | None:
        return _date(int(found[1]), int(found[2]), int(found[3]), language)

    def clock(found: re.Match[str]) -> str:
        hours, minutes = int(found[1]), int(found[2])
        if not minutes:
            return _hours(hours, language)
        if tongue.primary == "fr":
            return f"{_hours(hours, language)} {minutes}"
        return f"{hours} {minutes}" if minutes > 9 else f"{hours} {tongue.past} {minutes}"

    def spoken_hours(found: re.Match[str]) -> str:
        return _hours(int(found[1]), language) + (f" {int(found[2])}" if found[2] and int(found[2]) else "")

    rules = [
        *web_rules(tongue.primary),
        _rule("date", r"(?<![\w/.-])(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?![\w/-])", date),
        _rule("iso date", r"(?<![\w/-])(\d{4})-(\d{2})-(\d{2})(?![\w/-])", iso_date),
        _rule("phone", r"(?<![\w.,/-])\+\d{1,3}(?:[ .-]\(?\d{1,5}\)?){2,5}(?![\w-])", _phone(tongue.plus)),
        _rule("clock", r"(?<![\d:.,/-])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])(?:\s?h\b\.?)?", clock),
        _rule("half day", r"(?<=\d )([ap])\.?\s?m\b\.?(?=[^.\w]|$)", lambda found: spell(f"{found[1]}m")),
    ]
    if tongue.hour:
        rules.append(_rule("hours", r"(?<![\w.,:])([01]?\d|2[0-4])\s?h(?:\s?([0-5]\d))?(?:min)?(?!\w)", spoken_hours))
    rules += [
        _rule(
            "money",
            rf"(?<![\w.,])([-−])?({signs})\s?({number})",
            lambda found: (f"{tongue.minus} " if found[1] else "") + amount(found[3], CURRENCY_SIGNS[found[2]]),
        ),
        _rule(
            "money",
            rf"(?<![\w.,])({number})\s?({signs})(?!\w)",
            lambda found: amount(found[1], CURRENCY_SIGNS[found[2]]),
        ),
        _rule("money", rf"(?<![\w.,])({number})\s?({codes})\b", lambda found: amount(found[1], found[2])),
        _rule("size", rf"(?<![\w.,])({number})\s?[x×]\s?(?=\d)", lambda found: f"{found[1]} {tongue.by} "),
        _rule("unit", rf"(?<![\w.,])({number})\s?({units})(?![\w/²³°])", unit),
        _rule("unit", rf"(?<![\w.,])({number})({glued})(?![\w/²³°])", unit),
        _rule(
            "range",
            rf"(?<![\w.,/-])({number})\s?[-–—]\s?({number})(?![\w/-]|[.,]\d)",
            lambda found: f"{found[1]} {tongue.to} {found[2]}",
        ),
        _rule("minus", r"(?<![\w)\]])[-−](?=\d)", f"{tongue.minus} "),
        _rule("plus", r"(?<![\w)\]])\+(?=\d)", f"{tongue.plus} "),
        _rule("about", r"(?<!\w)[~≈]\s?(?=\d)", f"{tongue.about} "),
        _rule("number sign", r"(?<!\w)#(?=\d)", f"{tongue.number} "),
        _rule("operator", r"(?<=\d)\s*[×]\s*(?=\d)", f" {tongue.times} "),
        _rule("operator", r"(?<=\d)\s*\+\s*(?=\d)", f" {tongue.plus} "),
        _rule("operator", r"(?<=[\w])\s*=\s*(?=[\w-])", f" {tongue.equals} "),
        *(_rule("abbreviation", pattern, words) for pattern, words in tongue.abbreviations),
        _rule("acronym", _SPELLED.pattern, _acronym),
        _rule("trade mark", r"[™®©℠]", " "),
    ]
    return tuple(rules)


def _rule(name: str, pattern: str, replacement: str | Callable[[re.Match[str]], str | None]) -> Rule:
    return Rule(name, re.compile(pattern), replacement)


def _hours(hours: int, language: str) -> str:
    return " ".join(format_unit(hours, "duration-hour", "long", locale=LOCALES[language]).split())


def _date(year: int, month: int, day: int, language: str) -> str | None:
    try:
        date = datetime.date(year, month, day)
    except ValueError:
        return None
    return str(format_date(date, "long", locale=LOCALES[language]))


def _phone(plus: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{plus} " + ", ".join(" ".join(group) for group in re.findall(r"\d+", found[0]))


def _acronym(found: re.Match[str]) -> str | None:
    word = found[1]
    return spell(word) if word in _ALWAYS_LETTERS or not _HAS_VOWEL.search(word) else None
