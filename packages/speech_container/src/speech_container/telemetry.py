"""Where everything that is worth knowing about a request goes: the log, the metrics, the spans.

The faces tell one `Observer` each; it is the only thing here that they call. A log line has ids and lengths, and a
request's text only where the log level is `text`.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from opentelemetry.context import Context
from speech_protocol import ErrorCode, ErrorEvent, KnownEvent

from .account import Account, Face, Outcome, outcome_of
from .delivery import Delivery
from .emf import INTERVAL_S, EmbeddedMetrics
from .metrics import Metrics
from .settings import Settings
from .tracing import Tracer, parent_of

logger = logging.getLogger(__name__)


class Telemetry:
    """One server's. `waiting_segments` and `running` (requests) are read when somebody asks for them."""

    def __init__(self, settings: Settings, waiting_segments: Callable[[], float], running: Callable[[], float]) -> None:
        self.sessions = 0
        """Open WebSocket sessions and running HTTP requests."""
        self.metrics = Metrics(settings.engine)
        self.metrics.gauge("speech_waiting_segments", "Segments that wait for the engine", waiting_segments)
        self.metrics.gauge("speech_running_requests", "Requests that were admitted and are not finished", running)
        gauges = {"Sessions": lambda: float(self.sessions), "WaitingSegments": waiting_segments}
        self._embedded = EmbeddedMetrics(settings.engine, gauges) if settings.metrics == "emf" else None
        self.tracer = Tracer()
        self._log_text = settings.log_level == "text"

    def observer(self, face: Face, headers: Iterable[tuple[bytes, bytes]] = ()) -> "Observer":
        """For one session or HTTP request. `headers` of its request may name the caller's span."""
        return Observer(self, face, parent_of(headers))

    @contextmanager
    def session(self, face: Face) -> Iterator[None]:
        """Around a WebSocket session or an HTTP request."""
        self.sessions += 1
        self.metrics.session(face, 1)
        try:
            yield
        finally:
            self.sessions -= 1
            self.metrics.session(face, -1)

    def step(self, batch: int, took_s: float, audio_s: float) -> None:
        """The engine has synthesised `batch` segments. Called by the engine's thread."""
        self.metrics.step(batch, took_s, audio_s)
        if self._embedded is not None:
            self._embedded.step(batch, took_s, audio_s)

    def error(self, face: Face, code: str) -> None:
        """A client was told of an error, or has to take a cut connection for one."""
        self.metrics.error(face, code)
        if self._embedded is not None:
            self._embedded.error(code)

    def request(self, account: Account, parent: Context | None) -> None:
        """A request has ended."""
        self.metrics.request(account)
        if self._embedded is not None:
            self._embedded.request(account)
        self.tracer.request(account, parent)
        self._log(account)

    async def publish(self) -> None:
        """Write what has been gathered, every few seconds, until cancelled, and then what is left."""
        if self._embedded is None:
            return
        try:
            while True:
                await asyncio.sleep(INTERVAL_S)
                self._embedded.flush()
        finally:
            self._embedded.flush()

    def _log(self, account: Account) -> None:
        fields: dict[str, object] = {
            "request_id": account.request_id,
            "face": account.face,
            "code": account.code,
            "text_chars": len(account.text),
            "format": account.format,
            "duration_s": round(account.audio_s, 3),
            "audio_bytes": account.audio_bytes,
            "queue_s": _rounded(account.queue_s),
            "first_audio_s": _rounded(account.first_audio_s),
            "elapsed_s": _rounded(account.elapsed_s),
            "underruns": account.underruns,
        }
        if self._log_text:
            fields["text"] = account.text
        logger.info("request %s", account.outcome, extra={"fields": fields})


class Observer:
    """One session's or one HTTP request's way to the telemetry: told once of every request, however it ends."""

    def __init__(self, telemetry: Telemetry, face: Face, parent: Context | None) -> None:
        self._telemetry = telemetry
        self._face = face
        self._parent = parent

    def sent(self, event: KnownEvent) -> None:
        """An event that is the whole answer to a request or message.

        An error ends what it answers, but for text that came too late: that has ended.
        """
        if isinstance(event, ErrorEvent):
            if event.code == ErrorCode.CANCELLED:
                self._telemetry.error(self._face, event.code)
            else:
                self.unheard(event.request_id, outcome_of(event.code), event.code)

    def unheard(self, request_id: str | None, outcome: Outcome, code: str | None = None) -> None:
        """A request that has ended before any of its audio was sent; `code` where that was by an error."""
        if code is not None:
            self._telemetry.error(self._face, code)
        account = Account(face=self._face, outcome=outcome, request_id=request_id, code=code)
        self._telemetry.request(account, self._parent)

    def ended(
        self, delivery: Delivery, text: str, outcome: Outcome, *, queue_s: float | None, code: str | None = None
    ) -> None:
        """A request of which audio was sent; `code` where it ended by an error, told or shown by cutting it off."""
        if code is not None:
            self._telemetry.error(self._face, code)
        options, playback = delivery.options, delivery.playback
        account = Account(
            face=self._face,
            outcome=outcome,
            code=code,
            request_id=delivery.request_id,
            text=text,
            format=options.format,
            voice=options.voice,
            queue_s=queue_s,
            first_audio_s=delivery.first_audio_s,
            elapsed_s=delivery.elapsed_s,
            audio_s=delivery.duration_s,
            audio_bytes=delivery.audio_bytes,
            underruns=playback.underruns,
            silent_s=playback.silent_s,
        )
        self._telemetry.request(account, self._parent)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
