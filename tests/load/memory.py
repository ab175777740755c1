"""Whether a server's memory levels off: windows and a trend over a whole run, because any one sample is an accident."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

MEBIBYTE: Final = 1024 * 1024
ALLOWED_BYTES: Final = 16 * MEBIBYTE
"""What the level may rise over the second and third thirds of a run. Who happens to be served when one looks is worth
as much (an answer that is sent whole has up to 8 MiB, and the allocator keeps some of it)."""
_MAX_POINTS: Final = 120


@dataclass(frozen=True, slots=True)
class Level:
    """Resident bytes of a run, without its first third, in which caches fill.

    `early`, `late`: medians of the second and the last third. `trend`: how much a straight line through all of these
    samples rises from their first to their last (Theil and Sen's: the median of the slopes of all pairs).
    """

    early: float
    late: float
    trend: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Level":
        """`samples` at even intervals, at least nine."""
        if len(samples) < 9:
            raise ValueError(f"a level takes at least nine samples; {len(samples)} came")
        third = len(samples) // 3
        settled = samples[third:]
        step = -(-len(settled) // _MAX_POINTS)
        points = list(enumerate(settled[::step]))
        slopes = [(late - early) / (after - before) for (before, early), (after, late) in combinations(points, 2)]
        trend = statistics.median(slopes) * (len(points) - 1)
        return cls(statistics.median(samples[third : 2 * third]), statistics.median(samples[-third:]), trend)

    @property
    def rises(self) -> bool:
        """Whether it is no level."""
        return self.late - self.early > ALLOWED_BYTES or self.trend > ALLOWED_BYTES

    def __str__(self) -> str:
        early, late, trend = (value / MEBIBYTE for value in (self.early, self.late, self.trend))
        return f"{early:.1f} MiB in the second third, {late:.1f} in the last, trend {trend:+.1f}"
