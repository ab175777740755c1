"""Markup out, words in: what a model writes for the eye, made fit for a voice.

The rules are a table (`DEFAULT_RULES`) that a caller can extend or shorten. They work on one piece of text at a time,
after the sentences were cut: the chunker keeps brackets, links and list markers together and ends a piece at a line
end, so a rule sees its construct whole. The one thing that goes over many pieces is a fenced code block, for which
`SpeakableFilter` remembers whether it is inside one. So the filter never changes where sentences end, and text that
came in one-character deltas reads as the same text whole.

Kokoro's own syntax (`[word](/phonemes/)`, `[word](+1)`) passes through untouched.
"""

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from speech_text.sentence_marks import EMOJI
from speech_text.traced import New, Replacement, Traced


@dataclass(frozen=True)
class Rule:
    """One row of the table: every match of `pattern` becomes `replacement` (see `Traced.sub`)."""

    name: str
    pattern: re.Pattern[str]
    replacement: Replacement


#: `[word](/phonemes/)` and `[word](+1)`: what misaki calls a link feature.
INLINE = re.compile(r"\[([^\[\]\n]{1,100})\]\((/[^()/\n]{1,200}/|[+-]?(?:[0-2]|0?\.5))\)")

#: A URL or e-mail address, without the stop or bracket that follows it.
ADDRESS = re.compile(
    r"(?:https?://|www\.)(?:[^\s<>()\[\]\"'`*|]|\([^\s<>()]*\))*[^\s<>()\[\]\"'`*|.,;:!?_~…。，]"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}"
)

_OPTION = re.compile(r"(?<![\w-])--?(?=\w)")
_CELL = re.compile(r"[^\s|](?:[^|\n]*[^\s|])?")
_ENDED = re.compile(r"[.!?…:;,।。！？][\"'”’»)\]*_~`\s]*$")


def _group(number: int) -> Callable[[re.Match[str]], New]:
    return lambda found: (found.span(number),) if found[number] else ""


def _code(found: re.Match[str]) -> New:
    """Inline code without its ticks; the dashes of an option are not said."""
    low, high = found.span(2)
    parts: list[tuple[int, int]] = []
    for dashes in _OPTION.finditer(found.string, low, high):
        parts.append((low, dashes.start()))
        low = dashes.end()
    return (*parts, (low, high))


def _row(found: re.Match[str]) -> New:
    """A table row as a list: its cells with commas between."""
    parts: list[str | tuple[int, int]] = []
    for cell in _CELL.finditer(found.string, *found.span()):
        parts.extend((", " if parts else "", cell.span()))
    return (*parts, ".")


def _item(found: re.Match[str]) -> New:
    """A heading or list item without its marker, with an end that can be heard."""
    low, high = found.span(1)
    text = found[1].rstrip().rstrip("#").rstrip()
    return ((low, low + len(text)), "" if not text or _ENDED.search(text) else ".") if high > low else ""


def _entity(found: re.Match[str]) -> str | None:
    text = html.unescape(found[0])
    return None if text == found[0] else text.replace("\xa0", " ").replace("<", " ").replace(">", " ")


def _rule(name: str, pattern: str, replacement: Replacement, flags: int = 0) -> Rule:
    return Rule(name, re.compile(pattern, flags), replacement)


_LINE = re.MULTILINE
_BREAK = r"\s*<(?:br|hr|/p|/div|/li|/h[1-6]|/tr)\s*/?>"
_ATTRIBUTE = r"[A-Za-z_:@][\w:.-]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))?"

#: In the order in which they are applied.
DEFAULT_RULES: tuple[Rule, ...] = (
    _rule("html comment", r"<!--.*?(?:-->|\Z)", " ", re.DOTALL),
    _rule("unseen html", r"(?is)<(script|style|head|svg)\b[^<>]*>.*?</\1\s*>", " "),
    _rule("struck text", r"~~(?=\S)(.+?)(?<=\S)~~|(?is:<(?:del|s|strike)>.*?</(?:del|s|strike)>)", " ", re.DOTALL),
    _rule("autolink", r"<(?:mailto:)?(\ue000)>", _group(1)),
    _rule("html break", rf"(?i)(?<=[.!?:;,]){_BREAK}", " "),
    _rule("html break", rf"(?i){_BREAK}", ", "),
    _rule("html tag", rf"</?[A-Za-z][A-Za-z0-9-]*(?:\s+{_ATTRIBUTE})*\s*/?>", ""),
    _rule("html entity", r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});", _entity),
    _rule("image", r"!\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)", _group(1)),
    _rule("link", r"\[([^\[\]]+)\]\((?:[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)", _group(1)),
    _rule("reference", r"(?<=[\w.!?,;:)\"])\[\^?\d{1,3}\](?::)?|\[\^[^\]\s]{1,30}\]:?", ""),
    _rule("reference link", r"\[([^\[\]]+)\]\[[^\[\]]*\]", _group(1)),
    _rule("code", r"(`+)([^`]+)\1", _code),
    _rule("rule line", r"^[^\S\n]*(?:[-*_=][^\S\n]*){3,}$", "", _LINE),
    _rule("table line", r"^[^\S\n]*\|?(?:[^\S\n]*:?-{2,}:?[^\S\n]*\|)+(?:[^\S\n]*:?-{2,}:?)?[^\S\n]*$", "", _LINE),
    _rule("table row", r"^[^\S\n]*\|[^\n]*\|?[^\S\n]*$", _row, _LINE),
    _rule("quote", r"^[^\S\n]*(?:>[^\S\n]?)+", "", _LINE),
    _rule("heading", r"^[^\S\n]*#{1,6}[^\S\n]+([^\n]*)$", _item, _LINE),
    _rule("task", r"^([^\S\n]*(?:[-*+•][^\S\n]+)?)\[[ xX]\][^\S\n]+", _group(1), _LINE),
    _rule("item", r"^[^\S\n]*[-*+•⁃◦▪‣–—][^\S\n]+(?=\S)([^\n]*)$", _item, _LINE),
    _rule("lone marker", r"^[^\S\n]*(?:[-*+•⁃◦▪‣]|#{1,6})[^\S\n]*$", "", _LINE),
    _rule("times", r"(?<=\d)[^\S\n]*\*[^\S\n]*(?=\d)", " × "),
    _rule("emphasis", r"\*+|(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)|~~+", ""),
    _rule("tick", r"`+", ""),
    _rule("snake case", r"(?<=\w)_+(?=\w)", " "),
    _rule("emoji", EMOJI.pattern, " "),
    _rule("stray mark", r"(?<!\S)(?:[|^~\\#]+|[<>](?!\s*\d))(?!\S)", " "),
)


class SpeakableFilter:
    """Applies the rules to the pieces of one text, in their order.

    Args:
        rules: the table; `(*DEFAULT_RULES, Rule(...))` adds one.
    """

    def __init__(self, rules: Iterable[Rule] = DEFAULT_RULES) -> None:
        self._rules = tuple(rules)
        self._fence = ""

    def filter(self, piece: Traced) -> list[Traced]:
        """What of this piece can be spoken: no part, one, or several (around code blocks)."""
        return [filtered for part in self._outside_fences(piece) if (filtered := self._apply(part)).text.strip()]

    def text(self, piece: str) -> str:
        """What of this piece can be spoken, as a string; '' for nothing. For callers that need no character ranges."""
        return " ".join(" ".join(part.text.split()) for part in self.filter(Traced.of(piece)))

    def outside_code(self, piece: str) -> str:
        """The piece as it is; or, where a code block reaches over its beginning or end, what of it is no code.

        For callers that send pieces on to a server which filters each one by itself, and would take the end of a
        block for the beginning of one.
        """
        began_inside = bool(self._fence)
        parts = self._outside_fences(Traced.of(piece))
        if not began_inside and not self._fence:
            return piece
        return " ".join(part.text.strip() for part in parts)

    def _outside_fences(self, piece: Traced) -> list[Traced]:
        if not self._fence and "```" not in piece.text and "~~~" not in piece.text:
            return [piece]
        parts: list[Traced] = []
        start = at = 0
        for line in piece.text.splitlines(keepends=True):
            mark = _FENCE.match(line)
            if self._fence:
                if mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
                    self._fence = ""
                start = at + len(line)
            elif mark and "`" not in line[mark.end() :]:
                parts.append(piece.part(start, at))
                self._fence = mark[1][:3]
                start = at + len(line)
            at += len(line)
        parts.append(piece.part(start, at))
        return [part for part in parts if part.text.strip()]

    def _apply(self, piece: Traced) -> Traced:
        """All rules over one part, with Kokoro's own syntax out of their way."""
        piece = piece.sub(_PLACEHOLDER, " ")
        kept = {piece.starts[found.start()]: piece.part(*found.span()) for found in _KEPT.finditer(piece.text)}
        piece = piece.sub(_KEPT, _PLACEHOLDER.pattern)
        for rule in self._rules:
            piece = piece.sub(rule.pattern, rule.replacement)
        if not kept:
            return piece
        whole, done = Traced("", (), ()), 0
        for place in _PLACEHOLDER.finditer(piece.text):
            whole = whole.join(piece.part(done, place.start())).join(kept[piece.starts[place.start()]])
            done = place.end()
        return whole.join(piece.part(done, len(piece.text))).sub(_ESCAPED, _group(1))


_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|>~$-])")
#: What the rules must not look into: inline pronunciations, addresses ("a_b", "~x" are no markup there), escapes.
_KEPT = re.compile(f"{INLINE.pattern}|{ADDRESS.pattern}|{_ESCAPED.pattern}")
#: A private-use character that stands for one of them while the rules run.
_PLACEHOLDER = re.compile("\ue000")
_FENCE = re.compile(r"[^\S\n]{0,3}(?:>[^\S\n]?)?(?:[-*+][^\S\n]+)?(`{3,}|~{3,})")
