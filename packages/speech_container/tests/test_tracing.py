"""Spans, with a real SDK and a real collector on loopback."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, StatusCode
from speech_container.account import Account
from speech_container.tracing import Tracer, configure, parent_of

DONE = Account(
    face="websocket",
    outcome="complete",
    request_id="r-1",
    text="What was said.",
    format="pcm",
    queue_s=0.1,
    first_audio_s=0.3,
    elapsed_s=2.0,
    audio_s=1.5,
    audio_bytes=72_000,
)
TRACE_ID = 0x4BF92F3577B34DA6A3CE929D0E0E4736


def ids(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


def duration_s(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e9


def test_a_request_is_a_span_with_its_waits_inside(spans: Any) -> None:
    spans.tracer.request(DONE)
    found = spans.by_name
    assert {name: pytest.approx(duration_s(span)) for name, span in found.items()} == {
        "speech.request": 2.0,
        "speech.queue": 0.1,
        "speech.first_audio": 0.2,
    }
    request = found["speech.request"]
    for name in ("speech.queue", "speech.first_audio"):
        parent = found[name].parent
        assert parent is not None
        assert parent.span_id == ids(request).span_id
    assert request.attributes is not None
    assert request.attributes["speech.request_id"] == "r-1"
    assert request.attributes["speech.text_chars"] == 14
    assert "said" not in request.to_json()
    assert request.status.status_code is StatusCode.UNSET


def test_a_callers_span_is_its_parent(spans: Any) -> None:
    header = f"00-{TRACE_ID:032x}-00f067aa0ba902b7-01".encode()
    spans.tracer.request(DONE, parent_of([(b"host", b"x"), (b"traceparent", header)]))
    request = spans.by_name["speech.request"]
    assert ids(request).trace_id == TRACE_ID
    assert parent_of([(b"host", b"x")]) is None


def test_a_failure_is_an_error(spans: Any) -> None:
    failed = Account(face="openai", outcome="failed", code="synthesis_failed", elapsed_s=0.1)
    spans.tracer.request(failed)
    assert spans.by_name["speech.request"].status.status_code is StatusCode.ERROR
    assert spans.by_name["speech.request"].status.description == "synthesis_failed"


def test_without_a_collector_nothing_is_set_up() -> None:
    assert configure({}) is False
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    Tracer().request(DONE)


def test_a_collector_that_the_environment_names_gets_the_spans() -> None:
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        program = (
            "from opentelemetry import trace\n"
            "from speech_container.account import Account\n"
            "from speech_container.tracing import Tracer, configure\n"
            "assert configure()\n"
            "Tracer().request(Account(face='openai', outcome='complete', elapsed_s=1.0))\n"
            "trace.get_tracer_provider().shutdown()\n"
        )
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        }
        subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
        server.shutdown()
        serving.join()
    (body,) = bodies
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
    assert names["service.name"] == "speech-container"
    assert [span.name for scope in resource.scope_spans for span in scope.spans] == ["speech.request"]
