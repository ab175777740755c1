"""Matching the sounds of a stretch of text to its words: pure functions.

espeak and cutlet answer for a whole stretch at once (liaison, stress and long vowels need it), without saying which
word said what. What each word says alone tells, closely enough for word times.
"""

from collections.abc import Sequence
from functools import lru_cache

from speech_text.spoken import Spoken

_STRESS = str.maketrans("", "", "ˈˌː")
#: How many more sounds a word may get than it has alone.
_SPARE = 3


def share(alone: Sequence[Sequence[str]], together: Sequence[str]) -> list[list[str]]:
    """Which of the sounds said together belong to which word, given what each word says alone.

    The sounds keep their order; each word gets a run of them, so that the runs are as like the words alone as they can
    be. A word that was drawn into its neighbour ("c'est" said as one) gets none.
    """
    targets = ["".join(sounds).translate(_STRESS) for sounds in alone]
    plain = [sound.translate(_STRESS) for sound in together]
    columns, rows = len(together), len(targets)
    endless = float("inf")
    best = [[endless] * (columns + 1) for _ in range(rows + 1)]
    back = [[0] * (columns + 1) for _ in range(rows + 1)]
    best[0][0] = 0.0
    for row, target in enumerate(targets, start=1):
        for column in range(columns + 1):
            for taken in range(min(column, len(alone[row - 1]) + _SPARE) + 1):
                before = best[row - 1][column - taken]
                if before >= best[row][column]:
                    continue
                cost = before + _unlike(target, "".join(plain[column - taken : column]))
                if cost < best[row][column]:
                    best[row][column], back[row][column] = cost, taken
    if best[rows][columns] == endless:
        return [list(together), *([] for _ in range(rows - 1))]
    result: list[list[str]] = []
    column = columns
    for row in range(rows, 0, -1):
        taken = back[row][column]
        result.append(list(together[column - taken : column]))
        column -= taken
    return result[::-1]


@lru_cache(maxsize=65536)
def _unlike(one: str, other: str) -> float:
    """Roughly how many symbols differ: those that only one of the two has, and a different beginning."""
    if one == other:
        return 0.0
    rest = list(other)
    common = 0
    for symbol in one:
        if symbol in rest:
            rest.remove(symbol)
            common += 1
    return len(one) + len(other) - 2 * common + 0.5 * (one[:1] != other[:1])


def spoken_words(
    words: Sequence[tuple[int, int, bool]], shares: Sequence[Sequence[str]], unknown: Sequence[bool]
) -> list[Spoken]:
    """One `Spoken` for each word (start, end, spaced) with its share; a word without one joins its neighbour."""
    result: list[Spoken] = []
    waiting: int | None = None
    for (start, end, spaced), said, is_unknown in zip(words, shares, unknown, strict=True):
        if said or is_unknown:
            result.append(Spoken(start if waiting is None else waiting, end, " ".join(said), spaced, is_unknown))
            waiting = None
        elif result and not result[-1].unknown:
            last = result[-1]
            result[-1] = Spoken(last.start, end, last.phonemes, spaced)
        elif waiting is None:
            waiting = start
    if waiting is not None and words:
        result.append(Spoken(waiting, words[-1][1], "", words[-1][2]))
    return result
