"""Numbers in words, for languages that espeak pronounces: a pure function over one written number.

espeak reads a whole number well but ends at a decimal or thousands mark, and phonemizer takes both for punctuation.
The words come from num2words; Hindi, which num2words 0.5.14 does not have, leaves whole numbers to espeak.
"""

import re
from functools import lru_cache

from num2words import num2words

_NUM2WORDS = {"es": "es", "fr": "fr", "it": "it", "pt-br": "pt_BR"}
_DECIMAL_WORD = {"es": "coma", "fr": "virgule", "it": "virgola", "pt-br": "vírgula", "hi": "दशमलव"}
#: Longer whole numbers are names (of an account, an order) and are said digit by digit.
_LONGEST_QUANTITY = 12


@lru_cache(maxsize=4096)
def in_words(written: str, language: str) -> str:
    """`18,4` → "dix-huit virgule quatre" in French. Digits that are no quantity are said one by one."""
    whole, decimals = _split(written, language)
    if len(whole) > _LONGEST_QUANTITY or (len(whole) > 1 and whole.startswith("0")):
        said = " ".join(_whole(digit, language) for digit in whole)
    else:
        said = _whole(whole, language)
    if not decimals:
        return said
    zeros = len(decimals) - len(decimals.lstrip("0"))
    rest = decimals[zeros:]
    parts = [_whole("0", language)] * zeros
    if rest:
        parts += (
            [_whole(rest, language)] if len(rest) <= 2 and language != "hi" else [_whole(d, language) for d in rest]
        )
    return " ".join((said, _DECIMAL_WORD[language], *parts))


def _split(written: str, language: str) -> tuple[str, str]:
    """The digits before and after the decimal mark. A mark before three digits parts thousands."""
    compact = written.replace(" ", "")
    decimal, group = (".", ",") if language == "hi" else (",", ".")
    if compact.count(decimal) == 1 and decimal in compact:
        whole, _, decimals = compact.partition(decimal)
        return re.sub(r"\D", "", whole) or "0", re.sub(r"\D", "", decimals)
    grouped = re.fullmatch(r"\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}", compact) is not None
    if not grouped and compact.count(group) == 1:
        whole, _, decimals = compact.partition(group)  # 3.5 as English-minded models write it
        return whole, decimals
    return re.sub(r"\D", "", compact), ""


def _whole(digits: str, language: str) -> str:
    if language not in _NUM2WORDS:
        return str(int(digits)) if len(digits) <= _LONGEST_QUANTITY else digits
    return str(num2words(int(digits), lang=_NUM2WORDS[language])).replace(",", "")
