"""How well a sentence's statistics are predicted: by what they are predicted from, by the constants of the fit, and by
the sentences that a voice has spoken.

    uv run python -m benchmarks.norm_fit [--cache DIR] [--write docs]

It takes the records that `kokoro-weights calibrate` keeps in the same cache, so that has to have run. Every fourth
sentence of each voice is left out of a fit and predicted by it. The error of a mean is in standard deviations of its
channel, that of a variance in its logarithm; both are root mean squares over all 9,216 channels. The last
column is that of the variances in the residual block of the higher rate that is sketched.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from kokoro_weights import prepare
from kokoro_weights.calibration import Calibration
from kokoro_weights.norm_fit import RANK, RIDGE, SHARES, fit
from kokoro_weights.norm_statistics import ENTERING, Calibrated, NormStatistics, Records
from kokoro_weights.preparation import default_cache
from kokoro_weights.sketch import LOWER_CHANNELS, SKETCHED, SKETCHED_CHANNELS

from benchmarks.rig.report import put_blocks

SCRIPT: Final = "benchmarks/norm_fit.py"
CHOICES: Final[Sequence[tuple[str, int, dict[str, Any]]]] = (
    ("the voice's means alone", 0, {"rank": 0, "shares": (0.0, 0.0)}),
    ("what enters the generator", 0, {"shares": (0.0, 0.0)}),
    ("and the sketch at the lower rate", LOWER_CHANNELS, {"shares": (0.8, 0.0)}),
    ("and at the higher", SKETCHED_CHANNELS, {}),
    ("", SKETCHED_CHANNELS, {"rank": 32}),
    ("", SKETCHED_CHANNELS, {"rank": 64}),
    ("", SKETCHED_CHANNELS, {"rank": 256}),
    ("", SKETCHED_CHANNELS, {"ridge": 0.03}),
    ("", SKETCHED_CHANNELS, {"ridge": 0.3}),
    ("", SKETCHED_CHANNELS, {"shares": (0.0, 0.0)}),
    ("", SKETCHED_CHANNELS, {"shares": (0.8, 0.8)}),
    ("", SKETCHED_CHANNELS, {"shares": (1.0, 1.0)}),
)
"""What is predicted from, how many sketched channels that is, and what is not as in the fit that ships."""
SENTENCES: Final = 40
"""That a voice has to have spoken: all of the calibration text."""
SPOKEN: Final = (4, 8, 12, 20, 30)
EVERY_FIFTH: Final = 5
"""Voice, of those that are limited to so many sentences, one at a time: each is a fit of its own."""
HIGHER: Final = slice(SKETCHED.start + LOWER_CHANNELS, SKETCHED.stop)
LEFT_OUT: Final = 4
"""Every fourth."""

type Known = Callable[[str], Records]


@dataclass(frozen=True, slots=True)
class Error:
    """`mean` in standard deviations, `variance` and `block` as differences of logarithms.

    `block`: of the variances in the residual block of the higher rate that is sketched.
    """

    mean: float
    variance: float
    block: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} | {self.variance:.4f} | {self.block:.4f}"


class Split:
    """Records of every voice that has spoken all sentences, split into seen and left out."""

    def __init__(self, calibration: Calibration, voices: Sequence[str]) -> None:
        self._calibration = calibration
        self.voices = [voice for voice in voices if len(calibration.records(voice).features) == SENTENCES]

    def _part(self, voice: str, left_out: bool) -> Records:
        records = self._calibration.records(voice)
        chosen = (np.arange(len(records.features)) % LEFT_OUT == LEFT_OUT - 1) == left_out
        return Records(records.features[chosen], records.statistics[chosen])

    def seen(self, voice: str) -> Records:
        """What a fit may know."""
        return self._part(voice, left_out=False)

    def left_out(self, voice: str) -> Records:
        """What it is asked."""
        return self._part(voice, left_out=True)

    def error(self, table: NormStatistics, voices: Sequence[str]) -> Error:
        """Over the sentences that are left out."""
        means, variances, blocks = [], [], []
        for voice in voices:
            records = self.left_out(voice)
            for features, statistics in zip(records.features, records.statistics, strict=True):
                mean, variance = table.predict(features, {voice: 1.0})
                wanted, log_variance = np.split(statistics, 2)
                means.append(np.square((mean - wanted) / np.exp(log_variance / 2)).mean())
                apart = np.square(np.log(variance) - log_variance)
                variances.append(apart.mean())
                blocks.append(apart[HIGHER].mean())
        return Error(*(float(np.sqrt(np.mean(squares))) for squares in (means, variances, blocks)))


def fitted(voices: Sequence[str], records: Known, **choice: Any) -> NormStatistics:
    """A table that nobody keeps."""
    return fit(voices, records, Calibrated((), dict.fromkeys(voices, ""), ""), **choice)


def by_choice(split: Split) -> list[str]:
    """The error by what is predicted from and by constants, in Markdown."""
    lines = [
        "| predicted from | rank | ridge | shares | mean | log variance | of the fourth block |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for what, channels, choice in CHOICES:
        table = fitted(split.voices, _sketched_only(split.seen, channels), **choice)
        values: dict[str, Any] = {"rank": RANK, "ridge": RIDGE, "shares": SHARES} | choice
        cells = " | ".join(f"**{_cell(value)}**" if name in choice else _cell(value) for name, value in values.items())
        lines.append(f"| {what} | {cells} | {split.error(table, split.voices)} |")
        print(lines[-1], flush=True)
    return lines


def _cell(value: float | tuple[float, ...]) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _sketched_only(records: Known, channels: int) -> Known:
    """Of the sketch, the first so many channels: the others never move."""

    def seen(voice: str) -> Records:
        found = records(voice)
        features = found.features.copy()
        for sketch in np.split(features[:, ENTERING:], 2, axis=1):
            sketch[:, channels:] = 0
        return Records(features, found.statistics)

    return seen


def by_sentences(split: Split, voices: Sequence[str]) -> list[str]:
    """The mean error of one of `voices` that has spoken so many sentences, beside all others; in Markdown."""
    lines = ["| sentences | mean | log variance | of the fourth block |", "|--:|--:|--:|--:|"]
    for spoken in SPOKEN:
        errors = [split.error(fitted(split.voices, _limited(split, voice, spoken)), [voice]) for voice in voices]
        means = (float(np.mean([getattr(error, name) for error in errors])) for name in Error.__slots__)
        lines.append(f"| {spoken} | {Error(*means)} |")
        print(lines[-1], flush=True)
    return lines


def _limited(split: Split, voice: str, sentences: int) -> Known:
    def seen(name: str) -> Records:
        records = split.seen(name)
        if name != voice:
            return records
        return Records(records.features[:sentences], records.statistics[:sentences])

    return seen


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="where `kokoro-weights calibrate` kept what it measured")
    parser.add_argument("--write", type=Path, metavar="DIR", help="the directory of low-latency.md")
    arguments = parser.parse_args()
    weights = prepare("packages")
    calibration = Calibration(weights, arguments.cache or default_cache())
    split = Split(calibration, weights.voice_names)
    if not split.voices:
        raise SystemExit(f"{calibration.place}: no records of whole voices; run `kokoro-weights calibrate`")
    fifth = split.voices[::EVERY_FIFTH]
    blocks = {
        "Fit": "\n".join([f"{len(split.voices)} voices, {SENTENCES} sentences of each:", "", *by_choice(split)]),
        "Sentences": "\n".join(
            [f"Means of {len(fifth)} voices, each beside all others as they are:", "", *by_sentences(split, fifth)]
        ),
    }
    if arguments.write is not None:
        put_blocks(arguments.write / "low-latency.md", blocks, SCRIPT)


if __name__ == "__main__":
    main()
