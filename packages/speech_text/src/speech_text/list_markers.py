"""List markers: `1.`, `a)`, `- `, `IV.` at the head of a piece belong to the item, and the next one begins a new piece.

Models write lists inline as well (`1. Mix 2. Bake`). The second marker ends the first item only where it is the
successor of the one at the head of the piece, so that other numbers never cut.
"""

import re

_BULLET = r"[-–—*•⁃‣◦▪+]?[^\S\n]*"
_MARKER = re.compile(
    rf"(?:[>#]+[^\S\n]*)?{_BULLET}(?:\*\*|__)?\(?(\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}|[A-Za-z]|[ivx]{{2,5}}|[IVX]{{2,5}})([.)]{{1,2}})"
)
_ITEM_LABEL = re.compile(rf"{_BULLET}(\d{{1,3}}|[A-Za-z])")


def is_marker(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` is a list marker and nothing else."""
    return end - start <= 16 and _MARKER.fullmatch(text, start, end) is not None


def next_item(text: str, start: int, stop: int, after_stops: int, end: int, final: bool) -> int | None:
    """Where the item that began at `start` ends, if the stop or bracket at `stop` belongs to the next item's marker.

    Returns None where it is no such marker, and -1 while that cannot be told.
    """
    head = _MARKER.match(text, start, min(stop, start + 16))
    if head is None or text[stop] not in ".)":
        return None
    label_start = stop
    while label_start > head.end() and not text[label_start - 1].isspace() and stop - label_start < 5:
        label_start -= 1
    label = _ITEM_LABEL.fullmatch(text, label_start, stop)
    if label is None or label.group(1) != _successor(head.group(1)):
        return None
    before = label_start
    while before > head.end() and (text[before - 1].isspace() or text[before - 1] in "-*•⁃‣◦▪+"):
        before -= 1
    if before == label_start and label.start(1) == label_start:
        return None  # glued to the word before it: not a marker
    if not any(character.isalnum() for character in text[head.end() : before]):
        return None
    style_end = after_stops
    while style_end < end and text[style_end] in ".)":
        style_end += 1
    if style_end == end:
        return None if final else -1
    if text[stop:style_end] != head.group(2) or not text[style_end].isspace():
        return None
    return before


def _successor(label: str) -> str | None:
    if label.isdigit():
        return str(int(label) + 1)
    if len(label) == 1 and label.isascii() and label.isalpha() and label not in "zZ":
        return chr(ord(label) + 1)
    return None
