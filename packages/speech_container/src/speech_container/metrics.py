"""The server's numbers for Prometheus, in a registry of their own.

Labels take their values from short lists of ours (faces, formats, outcomes, error codes, the engine's name), never from
what a client sends, so the number of series is bounded whatever comes. Rendering all of them takes a few milliseconds,
and each series is locked for no longer than it takes to copy a number.
"""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from .account import Account

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_LATENCY_S: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30)
_WAIT_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_REAL_TIME_FACTORS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 5)
_BATCH_SIZES: Final = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Safe to use from any thread."""

    def __init__(self, engine: str) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._first_audio = self._histogram(
            "speech_first_audio_seconds", "From a request's arrival to its first encoded byte", _LATENCY_S, "face"
        )
        self._queue_wait = self._histogram(
            "speech_queue_wait_seconds", "From a request's submission until the engine began with it", _WAIT_S, "face"
        )
        engine_labels = {"engine": engine}
        self._synthesis = self._histogram(
            "speech_synthesis_seconds", "One step of the engine", _LATENCY_S, "engine"
        ).labels(**engine_labels)
        self._real_time_factor = self._histogram(
            "speech_real_time_factor", "A step's time over the audio it made", _REAL_TIME_FACTORS, "engine"
        ).labels(**engine_labels)
        self._batch_size = self._histogram(
            "speech_batch_size", "Segments synthesised in one step", _BATCH_SIZES, "engine"
        ).labels(**engine_labels)
        self._requests = self._counter(
            "speech_requests", "Requests that have ended, each once", "face", "format", "outcome"
        )
        self._errors = self._counter("speech_errors", "Errors that clients were told", "face", "code")
        self._audio_s = self._counter("speech_audio_seconds", "Seconds of audio sent", "format")
        self._audio_bytes = self._counter("speech_audio_bytes", "Bytes of encoded audio sent", "format")
        self._underruns = self._counter("speech_underruns", "Times that a listener ran dry", "face")
        self._silent_s = self._counter("speech_underrun_seconds", "Seconds that listeners were dry", "face")
        self._sessions = Gauge(
            "speech_sessions", "Open WebSocket sessions and running HTTP requests", ["face"], registry=self._registry
        )

    def gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A number that is read when somebody asks for it. `read` must be quick, and safe on any thread."""
        Gauge(name, description, registry=self._registry).set_function(read)

    def request(self, account: Account) -> None:
        """One request has ended."""
        audio_format = account.format or "none"
        self._requests.labels(account.face, audio_format, account.outcome).inc()
        if account.queue_s is not None:
            self._queue_wait.labels(account.face).observe(account.queue_s)
        if account.first_audio_s is not None:
            self._first_audio.labels(account.face).observe(account.first_audio_s)
        if account.audio_bytes:
            self._audio_s.labels(audio_format).inc(account.audio_s)
            self._audio_bytes.labels(audio_format).inc(account.audio_bytes)
        if account.underruns:
            self._underruns.labels(account.face).inc(account.underruns)
            self._silent_s.labels(account.face).inc(account.silent_s)

    def error(self, face: str, code: str) -> None:
        """A client was told `code`."""
        self._errors.labels(face, code).inc()

    def step(self, batch: int, took_s: float, audio_s: float) -> None:
        """The engine has synthesised `batch` segments, `audio_s` seconds together, in `took_s`."""
        self._synthesis.observe(took_s)
        self._batch_size.observe(batch)
        if audio_s > 0:
            self._real_time_factor.observe(took_s / audio_s)

    def session(self, face: str, change: int) -> None:
        """A session has begun (1) or ended (-1)."""
        self._sessions.labels(face).inc(change)

    def render(self) -> bytes:
        """All of it, in Prometheus's text format."""
        return generate_latest(self._registry)

    def _histogram(self, name: str, description: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, description, labels, buckets=buckets, registry=self._registry)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, registry=self._registry)
