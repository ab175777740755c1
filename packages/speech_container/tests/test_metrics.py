"""Numbers for Prometheus."""

from typing import get_args

from prometheus_client.parser import text_string_to_metric_families
from speech_container.account import Account, Face, Outcome
from speech_container.metrics import Metrics
from speech_protocol import AUDIO_FORMATS, ErrorCode


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    found = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def test_a_request_is_counted_where_it_belongs() -> None:
    metrics = Metrics("tone")
    metrics.request(
        Account(
            face="websocket",
            outcome="complete",
            format="pcm",
            queue_s=0.02,
            first_audio_s=0.12,
            audio_s=2.5,
            audio_bytes=120_000,
            underruns=2,
            silent_s=0.5,
        )
    )
    metrics.request(Account(face="websocket", outcome="refused", code="text_empty"))
    metrics.error("websocket", "text_empty")
    found = samples(metrics)
    face = ("face", "websocket")
    assert found["speech_requests_total", (face, ("format", "pcm"), ("outcome", "complete"))] == 1
    assert found["speech_requests_total", (face, ("format", "none"), ("outcome", "refused"))] == 1
    assert found["speech_errors_total", (("code", "text_empty"), face)] == 1
    assert found["speech_audio_seconds_total", (("format", "pcm"),)] == 2.5
    assert found["speech_audio_bytes_total", (("format", "pcm"),)] == 120_000
    assert found["speech_underruns_total", (face,)] == 2
    assert found["speech_underrun_seconds_total", (face,)] == 0.5
    assert found["speech_first_audio_seconds_count", (face,)] == 1
    assert found["speech_first_audio_seconds_bucket", (face, ("le", "0.1"))] == 0
    assert found["speech_first_audio_seconds_bucket", (face, ("le", "0.15"))] == 1
    assert found["speech_queue_wait_seconds_sum", (face,)] == 0.02


def test_a_step_has_time_batch_and_real_time_factor() -> None:
    metrics = Metrics("onnx")
    metrics.step(4, 0.5, 2.0)
    metrics.step(1, 0.1, 0.0)
    found = samples(metrics)
    engine = (("engine", "onnx"),)
    assert found["speech_synthesis_seconds_count", engine] == 2
    assert found["speech_batch_size_sum", engine] == 5
    assert found["speech_real_time_factor_count", engine] == 1
    assert found["speech_real_time_factor_sum", engine] == 0.25


def test_gauges_are_read_when_asked_for() -> None:
    metrics = Metrics("tone")
    waiting = [3.0]
    metrics.gauge("speech_waiting_segments", "waiting", lambda: waiting[0])
    metrics.session("websocket", 1)
    metrics.session("websocket", 1)
    metrics.session("websocket", -1)
    assert samples(metrics)["speech_waiting_segments", ()] == 3
    waiting[0] = 7
    assert samples(metrics)["speech_waiting_segments", ()] == 7
    assert samples(metrics)["speech_sessions", (("face", "websocket"),)] == 1


def test_the_process_is_among_them() -> None:
    assert samples(Metrics("tone"))["process_resident_memory_bytes", ()] > 0


def test_there_are_never_many_series() -> None:
    metrics = Metrics("tone")
    faces: tuple[Face, ...] = get_args(Face)
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    for face in faces:
        metrics.session(face, 1)
        for code in ErrorCode:
            metrics.error(face, code)
        for audio_format in (None, *AUDIO_FORMATS):
            for outcome in outcomes:
                account = Account(
                    face=face,
                    outcome=outcome,
                    format=audio_format,
                    queue_s=1,
                    first_audio_s=1,
                    audio_bytes=1,
                    underruns=1,
                )
                metrics.request(account)
    assert len(samples(metrics)) < 600
