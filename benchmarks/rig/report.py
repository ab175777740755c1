"""What becomes of a measurement: figures with their machine in a JSON file, and blocks in documents."""

import json
import math
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "benchmarks" / "results"
_QUIET_LOAD: Final = 0.5


@dataclass(frozen=True, slots=True)
class Machine:
    """Where something was measured. `load` is the average over the minute before, of processes that want a core."""

    processor: str
    cores: int
    load: float
    python: str

    @classmethod
    def here(cls) -> "Machine":
        """This one, now: call it before the measuring begins, which is a load itself."""
        return cls(_processor(), len(os.sched_getaffinity(0)), round(os.getloadavg()[0], 2), platform.python_version())

    @property
    def is_quiet(self) -> bool:
        """Whether nothing much else was running, so that the figures stand for the machine."""
        return self.load < _QUIET_LOAD

    def __str__(self) -> str:
        state = "quiet before" if self.is_quiet else "other work was running: provisional figures"
        return f"{self.cores} cores of {self.processor}, load {self.load:.1f} ({state})"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all are at or below."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@dataclass(frozen=True, slots=True)
class Spread:
    """A median, and the lowest and highest of what it is the median of."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], digits: int = 3) -> "Spread":
        """Rounded to `digits`."""
        low, median, high = (round(value, digits) for value in (min(values), statistics.median(values), max(values)))
        return cls(median, low, high)


def save(name: str, machine: Machine, figures: Mapping[str, Any]) -> Path:
    """Write `benchmarks/results/NAME.json`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    measured = datetime.now(UTC).date().isoformat()
    content = {"benchmark": name, "measured": measured, "machine": asdict(machine), **figures}
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    return path


def put_blocks(document: Path, blocks: Mapping[str, str], script: str) -> None:
    """Put each block between its marks, `<!-- NAME: written by SCRIPT -->` and `<!-- /NAME -->`.

    Raises `SystemExit` where a document has no such marks.
    """
    text = document.read_text("utf-8")
    for name, block in blocks.items():
        mark, end = f"<!-- {name}: written by {script} -->", f"<!-- /{name} -->"
        before, found, rest = text.partition(mark)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"{document} has no lines {mark!r} and {end!r} to write between")
        text = f"{before}{mark}\n\n{block}\n\n{end}{after}"
    document.write_text(text, "utf-8")


def _processor() -> str:
    """As Linux names it, elsewhere the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
