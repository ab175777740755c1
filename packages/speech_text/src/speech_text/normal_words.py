"""English words that are not written as they are said: abbreviations, acronyms, roman numerals.

misaki knows most acronyms, but takes some for words ("AWS" → "awes") and roman numerals for letters.
"""

import re
from collections.abc import Callable

from speech_text.marks import spell
from speech_text.speakable import Rule


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Abbreviation (as a pattern, with its stop) → words. Applied in order; where only context tells, see the rules below.
_ABBREVIATIONS: tuple[tuple[str, str], ...] = (
    (r"\bMt\.(?= [A-Z])", "Mount"),
    (r"\bMts\.(?= [A-Z])", "Mounts"),
    (r"\bFt\.(?= [A-Z])", "Fort"),
    (r"\bPt\.(?= [A-Z])", "Point"),
    (r"(?<=[a-z\d] )Ave\.?(?!\w)", "Avenue"),
    (r"(?<=[a-z\d] )Blvd\.?(?!\w)", "Boulevard"),
    (r"(?<=[a-z\d] )Rd\.?(?!\w)", "Road"),
    (r"(?<=[a-z\d] )Ln\.(?!\w)", "Lane"),
    (r"(?<=[a-z\d] )Hwy\.?(?!\w)", "Highway"),
    (r"(?<=[a-z\d] )Sq\.(?!\w)", "Square"),
    (r"\bApt\.(?= ?[#\d])", "Apartment"),
    (r"\bSte\.(?= ?[#\d])", "Suite"),
    (r"\bBldg\.", "Building"),
    (r"\bProf\.", "Professor"),
    (r"\bGen\.(?= [A-Z])", "General"),
    (r"\bSen\.(?= [A-Z])", "Senator"),
    (r"\bRep\.(?= [A-Z])", "Representative"),
    (r"\bGov\.(?= [A-Z])", "Governor"),
    (r"\bCapt\.(?= [A-Z])", "Captain"),
    (r"\bCol\.(?= [A-Z])", "Colonel"),
    (r"\bLt\.(?= [A-Z])", "Lieutenant"),
    (r"\bSgt\.(?= [A-Z])", "Sergeant"),
    (r"\bRev\.(?= [A-Z])", "Reverend"),
    (r"\bHon\.(?= [A-Z])", "Honorable"),
    (r"\bPres\.(?= [A-Z])", "President"),
    (r"\bJr\.?(?!\w)", "Junior"),
    (r"(?<=[a-z] )Sr\.?(?!\w)", "Senior"),
    (r"\bInc\.?(?!\w)", "Incorporated"),
    (r"\bCorp\.?(?!\w)", "Corporation"),
    (r"\bLtd\.?(?!\w)", "Limited"),
    (r"(?<=[a-z&] )Co\.(?!\w)", "Company"),
    (r"\bBros\.", "Brothers"),
    (r"\b[Dd]ept\.", "department"),
    (r"\b[Gg]ovt\.", "government"),
    (r"\bUniv\.", "University"),
    (r"\b[Aa]pprox\.?(?= )", "approximately"),
    (r"\b[Ee]st\.(?= \d)", "established"),
    (r"\b[Mm]ax\.(?= )", "maximum"),
    (r"\b[Mm]in\.(?= [a-z])", "minimum"),
    (r"\b[Aa]vg\.?(?= )", "average"),
    (r"\b[Ii]ncl\.", "including"),
    (r"\b[Ee]xcl\.", "excluding"),
    (r"\b[Ee]xt\.?(?= ?\d)", "extension"),
    (r"\b[Tt]el\.?(?=[ :])", "telephone"),
    (r"\b[Ff]igs?\.(?= ?\d)", "figure"),
    (r"\b[Vv]ol\.(?= ?[\dIVX])", "volume"),
    (r"\b[Cc]h\.(?= ?\d)", "chapter"),
    (r"\b[Ss]ec\.(?= ?\d)", "section"),
    (r"\b[Ee]q\.(?= ?\d)", "equation"),
    (r"\bpp\.(?= ?\d)", "pages"),
    (r"\bp\.(?= ?\d)", "page"),
    (r"\bNos\.(?= ?\d)", "numbers"),
    (r"\b[Nn]o\.(?= ?\d)", "number"),
    (r"\b[Vv]s\.?(?!\w)", "versus"),
    (r"\be\.\s?g\.,?", "for example,"),
    (r"\bi\.\s?e\.,?", "that is,"),
    (r"\ba\.?k\.?a\.?(?!\w)", "also known as"),
    (r"\betc\.?(?!\w)", "et cetera"),
    (r"\bet al\.", "and others"),
    (r"\bw/o(?!\w)", "without"),
    (r"\bw/(?= |\w)", "with "),
    (r"\bc/o(?!\w)", "care of"),
    (r"\bMon\.(?=,? [A-Z\d])", "Monday"),
    (r"\bTues?\.", "Tuesday"),
    (r"\bWed\.(?=,? [A-Z\d])", "Wednesday"),
    (r"\bThu(?:rs?)?\.", "Thursday"),
    (r"\bFri\.", "Friday"),
    (r"\bSat\.(?=,? [A-Z\d])", "Saturday"),
    (r"\bSun\.(?=,? [A-Z\d])", "Sunday"),
)
#: Abbreviations whose stop also ends the sentence keep it there.
_AT_END = re.compile(r"[\"'”’)]*\s*$")

#: Said as letters though misaki or espeak would take them for words.
_LETTERS = frozenset(
    _words(
        """AWS AI IT US EU UN UK UI UX ID OS PC PR HR QA IQ TV CD DJ GI ER PM VP VR AR ML ATM API CEO CIO CFO CTO COO
    CIA FBI IRS EPA FDA FAQ DIY DNA RNA GPU CPU TPU SSD HDD LED LCD USB URL URI PDF CSV XML SDK IDE CLI GUI
    ETA FYI IBM SAP AMD USA UAE BBC CNN NBC ABC CBS ESPN NBA NFL MLB NHL UFC VIP HIV ADHD IEEE ETF IPO LLC
    MBA LLM TTS ASR NLP IOU VPN DNS TCP UDP SSH TLS IAM ECR ECS EKS EMR RDS SNS SQS EC AOL IV EV EMEA APAC
    AAA EOD OEM ORM AMA"""
    )
)
#: Of those, the ones that are words as well.
_LETTERS_OR_WORDS = frozenset(("IT", "US", "ID", "OS"))
#: Capital words of two and three letters that are words when somebody shouts.
_WORDS = frozenset(
    _words(
        """A AM AN AS AT BE BY DO GO HE IF IN IS ME MY NO OF OH OK ON OR SO TO UP WE ACT ADD AGO AIR ALL AND ANY ARE
    ART ASK BAD BAG BED BIG BIT BOX BOY BUS BUT BUY CAN CAR CAT CUT DAD DAY DID DOG DRY EAT END EYE FAR FAT
    FEW FIT FIX FLY FOR FUN GET GOD GOT GUY HAD HAS HER HEY HIM HIS HIT HOT HOW ICE ILL ITS JOB JOY KEY KID
    LAW LAY LED LEG LET LIE LOT LOW MAD MAN MAP MAY MEN MIX MOM NET NEW NOT NOW ODD OFF OIL OLD ONE OUR OUT
    OWN PAY PET PUT RED RUN SAD SAW SAY SEA SEE SET SHE SIT SIX SKY SON SUN TAX TEA TEN THE TIE TOO TOP TRY
    TWO USE WAR WAS WAY WET WHO WHY WIN WON YES YET YOU ZIP"""
    )
)
#: Acronyms that are said as words.
_SAID_AS_WORDS = frozenset(
    _words(
        """RAM ROM PIN SIM LAN WAN GIF JPEG SQL NASA NATO LASER RADAR OPEC FIFA UNESCO UNICEF AIDS SARS COVID
        ASAP SWAT NAFTA NASDAQ SAT MAC GUI HIPAA LAMP SCUBA POTUS SCOTUS FEMA OSHA REST SOAP CRUD
        SaaS RAG YAML TOML JSON"""
    )
)
_ACRONYM = re.compile(r"(?<![\w.'’&/-])([A-Z]{2,5})(?![\w’']|\.\w|-[a-z])")
#: CO2, MP3, PM2.5: no vowel but an O or I, or none.
_WITH_NUMBER = re.compile(r"(?<![\w.'’&/-])([B-DF-HJ-NP-TV-XZ]{2,3}|CO)(?=\d{1,3}(?:\.\d)?(?!\w))")
_DOTTED = re.compile(r"(?<!\w)((?:[A-Z]\.){2,6})(?!\w)")

_ROMAN = r"(?:X{0,3}(?:IX|IV|V?I{0,3})|L?X{0,3}(?:IX|IV|V?I{0,3})|XC(?:IX|IV|V?I{0,3}))"
_MONARCHS = _words(
    """Henry Louis Charles Elizabeth George William Edward James Richard Mary Napoleon Frederick Philip John Paul
    Benedict Pius Gregory Leo Alexander Nicholas Peter Catherine Ivan Victoria Felipe Carlos Juan Gustav
    Christian Harald Haakon Olav Margaret Ferdinand Francis Joseph Leopold Albert Otto Clement Innocent
    Urban Boniface Celestine Ramses Rameses Ptolemy Cleopatra Darius Xerxes Constantine Theodosius Justinian
    Robert David Alfonso Sancho Manuel Pedro"""
)
_COUNTED = _words(
    """War Chapter Part Act Scene Volume Vol Book Section Phase Type Class Level Bowl Article Title Stage Rocky
    Fantasy Appendix Table Figure Step Unit Group Mark Apollo Gemini Saturn Schedule Annex Amendment
    Olympiad Division Corps"""
)
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def roman_value(numeral: str) -> int:
    """The number that a roman numeral (up to C) stands for."""
    total = 0
    for digit, following in zip(numeral, [*numeral[1:], ""], strict=True):
        value = _VALUES[digit]
        total += -value if value < _VALUES.get(following, 0) else value
    return total


def ordinal(number: int) -> str:
    """`2nd` for 2."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def roman_rules() -> tuple[Rule, ...]:
    """`Henry VIII` → "Henry the 8th", `World War II` → "World War 2"."""

    def monarch(found: re.Match[str]) -> str | None:
        return f"{found[1]} the {ordinal(roman_value(found[2]))}" if found[2] else None

    def counted(found: re.Match[str]) -> str | None:
        return f"{found[1]} {roman_value(found[2])}" if found[2] else None

    names, nouns = "|".join(_MONARCHS), "|".join(_COUNTED)
    return (
        Rule("monarch", re.compile(rf"\b({names}) (?!I\b)({_ROMAN})(?!\w)"), monarch),
        Rule("monarch", re.compile(rf"\b({names}) (I)(?=[,.;:!?)]| of\b| was\b| is\b)"), monarch),
        Rule("counted", re.compile(rf"\b({nouns}) ({_ROMAN})(?!\w)"), counted),
        Rule("counted", re.compile(rf"\b({nouns.lower()}) (?![IVXLC]\b)({_ROMAN})(?!\w)"), counted),
    )


def abbreviation_rules() -> tuple[Rule, ...]:
    """The table above, and the three that context decides (St., Dr., stops at the end of a sentence)."""

    def street(found: re.Match[str]) -> str:
        return "Street" + _stop_at_end(found)

    def drive(found: re.Match[str]) -> str:
        return "Drive" + _stop_at_end(found)

    rules = [
        Rule("street", re.compile(r"(?<=[a-z\d] )St\.(?= (?:[a-z]|[A-Z][a-z]+ (?:is|was))|,|[\"'”’)]*\s*$)"), street),
        Rule("saint", re.compile(r"\bSt\.(?= [A-Z])"), "Saint"),
        Rule(
            "drive",
            re.compile(r"(?<=\d )((?:[A-Z][a-z]+ )+)Dr\.(?= [a-z]|,|\s*$)"),
            lambda found: found[1] + drive(found),
        ),
    ]
    rules.extend(Rule("abbreviation", re.compile(pattern), _keeping_stop(words)) for pattern, words in _ABBREVIATIONS)
    return tuple(rules)


def _keeping_stop(words: str) -> Callable[[re.Match[str]], str]:
    return lambda found: words.rstrip(",") + "." if _stop_at_end(found) else words


def _stop_at_end(found: re.Match[str]) -> str:
    ends = found[0].endswith(".") and _AT_END.match(found.string, found.end())
    return "." if ends else ""


def acronym_rules() -> tuple[Rule, ...]:
    """`AWS` → the letters by name, unless it is a word (`NASA`) or part of shouting (`DO NOT`)."""

    def acronym(found: re.Match[str]) -> str | None:
        word = found[1]
        if word in _WORDS or word in _SAID_AS_WORDS:
            return None
        if word in _LETTERS_OR_WORDS and _is_shouted(found):
            return None
        if word not in _LETTERS and (_is_shouted(found) or (len(word) > 3 and re.search("[AEIOUY]", word))):
            return None
        return spell(word)

    def dotted(found: re.Match[str]) -> str:
        return spell(found[1].replace(".", "")) + _stop_at_end(found)

    def numbered(found: re.Match[str]) -> str:
        return spell(found[1]) + " "

    return (
        Rule("dotted", _DOTTED, dotted),
        Rule("acronym", _ACRONYM, acronym),
        Rule("acronym and number", _WITH_NUMBER, numbered),
    )


def _is_shouted(found: re.Match[str]) -> bool:
    """Whether the words beside it are in capitals as well and are no acronyms themselves."""
    before = found.string[: found.start()].split()[-1:]
    after = found.string[found.end() :].split(None, 1)[:1]
    known = _LETTERS | _SAID_AS_WORDS
    beside = [word.strip(".,!?;:\"'()") for word in (*before, *after)]
    return any(
        len(word) > 1 and word.isupper() and word not in known and re.search("[AEIOUY]", word) for word in beside
    )
