"""What `voice-local ask` measured, as numbers: medians over runs, and how much sooner `bidi` is heard than `batch`."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from local_cloud.answer import Answer


@dataclass(frozen=True, slots=True)
class ModeTimes:
    """Medians of one mode over its runs, in milliseconds; None where no run had such a moment."""

    mode: str
    runs: int
    first_text_ms: float | None
    first_audio_ms: float | None
    total_ms: float
    audio_s: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first_audio_ratio`: bidi's median first audio over batch's; None unless both modes were heard."""

    modes: tuple[ModeTimes, ...]
    first_audio_ratio: float | None

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def compare(answers: Sequence[Answer]) -> Comparison:
    """Group by mode, in the order in which the modes first came."""
    modes = tuple(
        _mode_times(mode, [a for a in answers if a.mode == mode]) for mode in _unique(a.mode for a in answers)
    )
    first_audio = {times.mode: times.first_audio_ms for times in modes}
    bidi, batch = first_audio.get("bidi"), first_audio.get("batch")
    return Comparison(modes, None if bidi is None or not batch else bidi / batch)


def _mode_times(mode: str, answers: Sequence[Answer]) -> ModeTimes:
    return ModeTimes(
        mode=mode,
        runs=len(answers),
        first_text_ms=_median(answer.first_text_ms for answer in answers),
        first_audio_ms=_median(answer.first_audio_ms for answer in answers),
        total_ms=median(answer.total_ms for answer in answers),
        audio_s=median(answer.duration_s for answer in answers),
    )


def _median(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return median(present) if present else None


def _unique(modes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(modes))
