"""Which part of an answer's text has been heard when so many seconds of its audio have been played."""

from array import array
from bisect import bisect_right
from typing import Final

_TOLERANCE_S: Final = 0.005  # for sums of fractions, and players that count in milliseconds


class Transcript:
    """Moments on the answer's clock at which the text up to some character is over: 16 bytes a word."""

    def __init__(self) -> None:
        self._ends_s = array("d")
        self._ends_char = array("Q")

    def mark(self, end_s: float, end_char: int) -> None:
        """The text up to `end_char` is over at `end_s`. A mark before the last one counts as at the last one."""
        if self._ends_s:
            end_s = max(end_s, self._ends_s[-1])
            end_char = max(end_char, self._ends_char[-1])
        self._ends_s.append(end_s)
        self._ends_char.append(end_char)

    def chars_heard(self, heard_s: float) -> int:
        """How many characters are over after `heard_s`, to the whole word."""
        marks = bisect_right(self._ends_s, heard_s + _TOLERANCE_S)
        return self._ends_char[marks - 1] if marks else 0
