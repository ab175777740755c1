"""Whether a server's memory levels off: windows and a trend over a whole run, for any one sample is an accident."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

MEBIBYTE: Final = 1024 * 1024
ALLOWED_BYTES: Final = 16 * MEBIBYTE
"""What the level may rise over the second and third thirds of a run."""
ALLOWED_IN_MINUTES_BYTES: Final = 2 * ALLOWED_BYTES
"""The same of a run of less than ten minutes, which is mostly the rise that an hour begins with (from 105 MiB to 133).

It goes with glibc's arenas, one for each thread: in seven minutes a server at rest went from 95 to 127 MiB, and with
MALLOC_ARENA_MAX=1 from 98 to 110 (one run each).
"""
_WINDOWS: Final = 6
_LEAST_SAMPLES: Final = 18
_FLOOR: Final = 0.2


@dataclass(frozen=True, slots=True)
class Level:
    """Resident bytes of a run, without its first third, in which caches fill.

    Who happens to be served when one looks is worth tens of MiB (an answer that is sent whole is held whole), and what
    is leaked is still there when they have gone. So a window counts with its floor, which a fifth of its samples are
    below. `early`, `late`: the floors of the second and of the last third. `trend`: how much a straight line through
    the floors of six windows rises from the first to the last (the median of the slopes of all pairs).
    """

    early: float
    late: float
    trend: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Level":
        """`samples` at even intervals, at least eighteen."""
        if len(samples) < _LEAST_SAMPLES:
            raise ValueError(f"a level takes at least {_LEAST_SAMPLES} samples; {len(samples)} came")
        third = len(samples) // 3
        settled = samples[third:]
        width = len(settled) // _WINDOWS
        floors = [_floor(settled[number * width : (number + 1) * width]) for number in range(_WINDOWS)]
        slopes = [
            (late - early) / (after - before) for (before, early), (after, late) in combinations(enumerate(floors), 2)
        ]
        trend = statistics.median(slopes) * (_WINDOWS - 1)
        return cls(_floor(samples[third : 2 * third]), _floor(samples[-third:]), trend)

    def rises(self, allowed_bytes: float = ALLOWED_BYTES) -> bool:
        """Whether it is no level."""
        return self.late - self.early > allowed_bytes or self.trend > allowed_bytes

    def __str__(self) -> str:
        early, late, trend = (value / MEBIBYTE for value in (self.early, self.late, self.trend))
        return f"{early:.1f} MiB in the second third, {late:.1f} in the last, trend {trend:+.1f}"


def _floor(samples: Sequence[float]) -> float:
    return sorted(samples)[int(len(samples) * _FLOOR)]
