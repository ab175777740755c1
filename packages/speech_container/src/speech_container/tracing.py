"""OpenTelemetry spans, for where somebody collects them; without an SDK the API does nothing, and costs nothing.

`opentelemetry-instrument speech-container serve` brings its own SDK. Without it, `configure` sets one up where
`OTEL_EXPORTER_OTLP_ENDPOINT` (or its `_TRACES_` form) names a collector and the extra `otel` is installed; all else is
OpenTelemetry's own variables. A request's span is written when it has ended, from the times that it was answered
with: the server carries no context through its queues and its engine's thread, and clients' texts stay out of it.
"""

import importlib.util
import logging
import os
import time
from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode

from .account import Account

logger = logging.getLogger(__name__)

_ENDPOINT_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_SERVICE_NAME: Final = "speech-container"
_PARENT_HEADERS: Final = ("traceparent", "tracestate", "baggage")


def configure(environment: Mapping[str, str] | None = None) -> bool:
    """Whether spans go anywhere. Sets up an exporter where the environment names a collector and nobody has before."""
    environment = os.environ if environment is None else environment
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return True
    if not any(environment.get(name) for name in _ENDPOINT_VARIABLES):
        return False
    if importlib.util.find_spec("opentelemetry.exporter") is None:
        logger.warning("a trace collector is configured, but the extra speech-container[otel] is not installed")
        return False
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": environment.get("OTEL_SERVICE_NAME") or _SERVICE_NAME})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True


def parent_of(headers: Iterable[tuple[bytes, bytes]]) -> Context | None:
    """The caller's span, where the headers of a request or a handshake name one."""
    carrier = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers
        if name.lower().decode("latin-1") in _PARENT_HEADERS
    }
    return propagate.extract(carrier) if carrier else None


class Tracer:
    """Writes requests as spans. `provider` None: whichever is set for the process."""

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer(__name__, tracer_provider=provider)

    def request(self, account: Account, parent: Context | None = None) -> None:
        """`speech.request` with `speech.queue` and `speech.first_audio` in it: the wait for the engine, and from there
        to the first encoded byte."""
        if account.elapsed_s is None:
            return
        ended_ns = time.time_ns()
        began_ns = ended_ns - _ns(account.elapsed_s)
        span = self._tracer.start_span(
            "speech.request",
            parent,
            kind=SpanKind.SERVER,
            attributes=_attributes(account),
            start_time=began_ns,
        )
        if account.outcome == "failed":
            span.set_status(Status(StatusCode.ERROR, account.code))
        inside = trace.set_span_in_context(span, parent)
        if account.queue_s is not None:
            begun_ns = began_ns + _ns(account.queue_s)
            self._tracer.start_span("speech.queue", inside, start_time=began_ns).end(begun_ns)
            if account.first_audio_s is not None:
                first_ns = max(begun_ns, began_ns + _ns(account.first_audio_s))
                self._tracer.start_span("speech.first_audio", inside, start_time=begun_ns).end(first_ns)
        span.end(ended_ns)


def _attributes(account: Account) -> dict[str, str | int | float]:
    found = {
        "speech.face": account.face,
        "speech.outcome": account.outcome,
        "speech.code": account.code,
        "speech.request_id": account.request_id,
        "speech.text_chars": len(account.text),
        "speech.format": account.format,
        "speech.audio_s": account.audio_s,
        "speech.audio_bytes": account.audio_bytes,
        "speech.underruns": account.underruns,
    }
    return {name: value for name, value in found.items() if value is not None}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
