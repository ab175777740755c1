"""The characters that sentence boundaries are made of, as sets and compiled patterns.

Kept apart from the rules that use them, because three modules must agree on what a closing quote or an emoji is.
Ranges are from the Unicode blocks named beside them.
"""

import re

#: Full stops that need no space after them: CJK and half-width stops, fullwidth marks, danda and double danda.
SPACELESS_STOPS = "。！？｡।॥"
#: Everything that can end a sentence. `…` and the one-character doubles (‼ ⁇ ⁈ ⁉) count as runs of their parts.
STOPS = ".!?…‼⁇⁈⁉．؟" + SPACELESS_STOPS
#: Marks after which the same sentence goes on, whatever stood before them.
CONTINUING = ",;:，、；："

#: Characters that end a line, as `str.splitlines` has them.
NEWLINES = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

#: Opening mark → the marks that close it. `"` opens and closes itself and is handled by position.
OPENERS = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "［": "］",
    "【": "】",
    "《": "》",
    "〈": "〉",
    "「": "」",
    "『": "』",
    "“": "”",
    "„": "“”",
    "«": "»",
    "‹": "›",
    "‘": "’",
    '"': '"',
}
CLOSERS = frozenset("".join(OPENERS.values()))
QUOTES = frozenset("\"'“”„«»‹›‘’「」『』")
#: Markdown emphasis and code marks, and the selectors that draw ‼ as an emoji: directly after a stop they belong to the
#: sentence before.
MARKUP = "*_~`\ufe0e\ufe0f"

#: Pictographs: Miscellaneous Symbols and Dingbats, Miscellaneous Symbols and Arrows (the emoji part), the pictograph
#: planes; then joiners, selectors, skin tones, keycap enclosure and tag characters that go on with an emoji.
_EMOJI_BASE = "\u2600-\u27bf\u2b05-\u2b55\u231a\u231b\u23e9-\u23fa\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_EMOJI_JOIN = "\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
EMOJI = re.compile(f"(?:[{_EMOJI_BASE}][{_EMOJI_JOIN}]*)+|[:;]-?[)(DP](?![^\\W_])")

STOP_RUN = re.compile(f"[{re.escape(STOPS)}]+")
BLANKS = re.compile(r"[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*")
SPACES = re.compile(r"\s*")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: A letter or digit: what makes a piece of text worth a breath.
SPEAKABLE = re.compile(r"[^\W_]")
CITATION = re.compile(r"\[\d{1,3}\]")


def is_cased(character: str) -> bool:
    """Whether the letter has upper and lower case (Latin), unlike Devanagari or CJK."""
    return character.lower() != character.upper()


def is_caseless_letter(character: str) -> bool:
    """Whether the letter belongs to a script without case, where capitals tell nothing."""
    return character.isalpha() and not is_cased(character)
