"""The same numbers as CloudWatch's embedded metric format: log lines that CloudWatch Logs turns into metrics.

Where nothing scrapes `/metrics` (a SageMaker endpoint), a line in the log is the way out. Numbers are gathered and
written every few seconds, or once 100 of a kind have come, which is the most that one line may hold ("Specification:
Embedded metric format" in the CloudWatch user guide). Each line has one dimension, the engine; errors have a line for
each code besides, so the series are bounded.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from .account import Account

NAMESPACE: Final = "KokoroSpeech"
INTERVAL_S: Final = 10.0
MAX_VALUES: Final = 100
_UNITS: Final = {
    "FirstAudio": "Seconds",
    "QueueWait": "Seconds",
    "Synthesis": "Seconds",
    "RealTimeFactor": "None",
    "BatchSize": "Count",
    "Requests": "Count",
    "Errors": "Count",
    "Underruns": "Count",
    "UnderrunSeconds": "Seconds",
    "AudioSeconds": "Seconds",
    "AudioBytes": "Bytes",
    "Sessions": "Count",
    "WaitingSegments": "Count",
}

logger = logging.getLogger(__name__)


def write(line: Mapping[str, Any]) -> None:
    """One line of the log, whatever its level is set to: these are figures, not messages."""
    logger.setLevel(logging.INFO)
    logger.info("metrics", extra={"fields": line})


class EmbeddedMetrics:
    """Safe to use from any thread. `gauges` are read when a line is written."""

    def __init__(
        self,
        engine: str,
        gauges: Mapping[str, Callable[[], float]],
        *,
        write: Callable[[Mapping[str, Any]], None] = write,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._gauges = gauges
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._values: dict[str, list[float]] = {}
        self._sums: dict[str, float] = {}
        self._errors: Counter[str] = Counter()

    def request(self, account: Account) -> None:
        """One request has ended."""
        values = {"QueueWait": account.queue_s, "FirstAudio": account.first_audio_s}
        sums = {
            "Requests": 1,
            "AudioSeconds": account.audio_s,
            "AudioBytes": account.audio_bytes,
            "Underruns": account.underruns,
            "UnderrunSeconds": account.silent_s,
        }
        self._add({name: value for name, value in values.items() if value is not None}, sums)

    def error(self, code: str) -> None:
        """A client was told `code`."""
        with self._lock:
            self._errors[code] += 1

    def step(self, batch: int, took_s: float, audio_s: float) -> None:
        """The engine has synthesised `batch` segments, `audio_s` seconds together, in `took_s`."""
        values = {"Synthesis": took_s, "BatchSize": float(batch)}
        if audio_s > 0:
            values["RealTimeFactor"] = took_s / audio_s
        self._add(values, {})

    def flush(self) -> None:
        """Write what has come since the last time; nothing, where nothing has come and all gauges are at rest."""
        with self._lock:
            values, self._values = self._values, {}
            sums, self._sums = self._sums, {}
            errors, self._errors = self._errors, Counter()
        gauges = {name: read() for name, read in self._gauges.items()}
        if values or sums or any(gauges.values()):
            self._write(self._line(["Engine"], {**values, **sums, **gauges}))
        for code, count in sorted(errors.items()):
            self._write(self._line(["Engine", "Code"], {"Errors": count}) | {"Code": code})

    def _add(self, values: Mapping[str, float], sums: Mapping[str, float]) -> None:
        with self._lock:
            for name, value in values.items():
                self._values.setdefault(name, []).append(round(value, 6))
            for name, amount in sums.items():
                self._sums[name] = self._sums.get(name, 0) + amount
            is_full = any(len(found) >= MAX_VALUES for found in self._values.values())
        if is_full:
            self.flush()

    def _line(self, dimensions: list[str], figures: Mapping[str, Any]) -> dict[str, Any]:
        metrics = [{"Name": name, "Unit": _UNITS[name]} for name in figures]
        directive = {"Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": metrics}
        aws = {"Timestamp": round(self._clock() * 1000), "CloudWatchMetrics": [directive]}
        return {"_aws": aws, "Engine": self._engine, **figures}
