"""What is told of requests, through real servers."""

import asyncio
import json
import logging
import time
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from speech_container.delivery import Delivery
from speech_container.dialect import InvocationsDialect
from speech_container.invocations import Invocations
from speech_container.service import Service
from speech_container.settings import Settings
from speech_protocol import Synthesize


async def numbers(running: Any) -> dict[str, float]:
    """The samples of /metrics, without labels that have one value in these tests, until what runs is accounted for."""
    while running.service.running:
        await running.http("GET", "/ping")
    reply = await running.http("GET", "/metrics")
    assert reply.status == 200
    found = {}
    for family in text_string_to_metric_families(reply.body.decode()):
        for sample in family.samples:
            labels = ",".join(value for name, value in sorted(sample.labels.items()) if name != "engine")
            found[f"{sample.name}({labels})"] = sample.value
    return found


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of the log's lines about requests."""
    return [
        {"message": record.getMessage(), **vars(record)["fields"]}
        for record in caplog.records
        if record.name == "speech_container.telemetry"
    ]


async def test_text_that_comes_too_late_is_told_and_counts_for_no_request(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="Hello there. And")
        await socket.send(type="cancel")
        while (await socket.answer()).end["type"] != "synthesis_cancelled":
            pass
        assert (await socket.ask(type="text", context_id="c", delta=" so on.", flush=True)).end["code"] == "cancelled"
    found = await numbers(running)
    assert found["speech_errors_total(cancelled,websocket)"] == 1
    requests = {name: value for name, value in found.items() if name.startswith("speech_requests_total")}
    assert sum(requests.values()) == 1
    assert found["speech_running_requests()"] == 0


async def test_an_error_whose_client_hangs_up_counts_once(start: Any, caplog: pytest.LogCaptureFixture) -> None:
    running = await start()
    caplog.set_level(logging.INFO, "speech_container")
    is_told = asyncio.Event()
    said = iter([b"nonsense"])

    async def receive() -> dict[str, Any]:
        if (body := next(said, None)) is not None:
            return {"type": "http.request", "body": body}
        await is_told.wait()
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        is_told.set()
        await asyncio.Event().wait()  # for ever: a client that takes nothing

    await Invocations(running.service, InvocationsDialect())({"type": "http", "headers": []}, receive, send)
    assert [line["code"] for line in told(caplog)] == ["invalid_json"]


async def test_every_request_is_counted_once_whatever_becomes_of_it(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        complete = (await socket.ask(text="One. Two.")).end
        assert (await socket.ask(text="?!")).end["code"] == "text_empty"
        await socket.ask(type="zzz")
        running.engine.broken_tokens = {1 + ord("z")}
        assert (await socket.ask(text="Fizz.")).end["code"] == "synthesis_failed"
        running.engine.hold()
        await socket.send(text="Three.", request_id="a")
        assert (await socket.frame())["type"] == "synthesis_start"
        await socket.send(text="Four.", request_id="b")
        await socket.send(type="cancel")
        assert [(await socket.answer()).end["type"] for _ in range(2)] == ["synthesis_cancelled"] * 2
        await socket.send(text="Five.")
        assert (await socket.frame())["type"] == "synthesis_start"
    while running.service.running:
        await running.http("GET", "/ping")
    running.engine.release()
    found = await numbers(running)
    counted = ("speech_requests_total", "speech_errors_total")
    assert {name: value for name, value in found.items() if name.startswith(counted)} == {
        "speech_requests_total(websocket,pcm,complete)": 1,
        "speech_requests_total(websocket,none,refused)": 2,
        "speech_requests_total(websocket,pcm,failed)": 1,
        "speech_requests_total(websocket,pcm,cancelled)": 1,
        "speech_requests_total(websocket,none,cancelled)": 1,
        "speech_requests_total(websocket,pcm,dropped)": 1,
        "speech_errors_total(text_empty,websocket)": 1,
        "speech_errors_total(unknown_type,websocket)": 1,
        "speech_errors_total(synthesis_failed,websocket)": 1,
    }
    assert found["speech_audio_seconds_total(pcm)"] == complete["total_duration_s"]
    assert found["speech_audio_bytes_total(pcm)"] == complete["audio_bytes"]
    assert found["speech_first_audio_seconds_count(websocket)"] == 1
    assert found["speech_queue_wait_seconds_count(websocket)"] == 1
    assert found["speech_sessions(websocket)"] == 0
    assert found["speech_waiting_segments()"] == 0
    assert found["speech_batch_size_count()"] >= 3


async def test_http_requests_are_counted_too(start: Any) -> None:
    running = await start()
    await running.invoke(text="One.")
    await running.invoke(text="")
    running.engine.broken_tokens = {1 + ord("z")}
    await running.invoke(text="Fine. Fizz.", format="pcm")
    body = json.dumps({"text": "Two.", "speed": 0.5}).encode()
    running.engine.forget()
    running.engine.hold()
    writer = await running.raw(f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n", body)
    await running.engine.busy()
    assert running.service.telemetry.sessions == 1
    writer.close()
    while running.service.running:
        await running.http("GET", "/ping")
    running.engine.release()
    found = await numbers(running)
    counted = {name: value for name, value in found.items() if name.startswith("speech_requests_total")}
    assert counted == {
        "speech_requests_total(invocations,wav,complete)": 1,
        "speech_requests_total(invocations,none,refused)": 1,
        "speech_requests_total(invocations,pcm,failed)": 1,
        "speech_requests_total(invocations,none,dropped)": 1,
    }
    assert found["speech_errors_total(synthesis_failed,invocations)"] == 1


async def test_audio_counts_also_where_its_request_was_not_completed(start: Any) -> None:
    running = await start(look_ahead_s=0.1)
    running.engine.broken_tokens = {1 + ord("z")}
    line = "One is here. "
    async with running.session() as socket:
        line_s = (await socket.ask(text=line, format="wav")).end["total_duration_s"]
        assert (await socket.ask(text=f"{line}Fizz.", format="mp3")).end["code"] == "synthesis_failed"
        await socket.send(text=line * 50, format="aac")
        while not isinstance(await socket.frame(), bytes):
            pass
    body = json.dumps({"text": line * 50, "format": "opus"}).encode()
    running.engine.forget()
    writer = await running.raw(f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n", body)
    for _ in range(2):  # the second line is only made once the first one was sent
        await running.engine.busy()
    writer.close()
    found = await numbers(running)
    assert {name for name in found if name.startswith("speech_requests_total")} == {
        "speech_requests_total(websocket,wav,complete)",
        "speech_requests_total(websocket,mp3,failed)",
        "speech_requests_total(websocket,aac,dropped)",
        "speech_requests_total(invocations,opus,dropped)",
    }
    assert found["speech_audio_seconds_total(mp3)"] == pytest.approx(line_s)
    assert 0 < found["speech_audio_seconds_total(aac)"] < 50 * line_s
    assert line_s <= found["speech_audio_seconds_total(opus)"] < 50 * line_s
    assert all(found[f"speech_audio_bytes_total({name})"] > 0 for name in ("mp3", "aac", "opus"))


async def test_sessions_and_waiting_segments_are_seen_while_they_are_there(start: Any) -> None:
    running = await start()
    async with running.session() as socket, running.session():
        running.engine.hold()
        await socket.send(text="One. Two. Three.")
        await running.engine.busy()
        reply = await running.http("GET", "/metrics")
        running.engine.release()
        await socket.answer()
    assert b'speech_sessions{face="websocket"} 2.0' in reply.body
    assert b"speech_waiting_segments 2.0" in reply.body


async def test_underruns_are_counted(tone_studio: Any) -> None:
    service = Service(Settings(engine="tone"), lambda _: tone_studio())
    await service.load()
    request = Synthesize("One. Two.")
    with await service.recite(1, request) as recitation:
        assert recitation.script.text == request.text
    delivery = Delivery("r", request.options, arrived_s=time.monotonic())
    delivery.playback.arrived(10.0, 1.0, waited_s=1.0)
    delivery.playback.arrived(11.5, 1.0, waited_s=1.0)
    service.telemetry.observer("websocket").ended(delivery, request.text, "complete", queue_s=0.0)
    await service.stop()
    text = service.telemetry.metrics.render().decode()
    assert 'speech_underruns_total{face="websocket"} 1.0' in text
    assert 'speech_underrun_seconds_total{face="websocket"} 0.5' in text


async def test_a_request_that_is_sent_ahead_and_held_back_until_it_is_due_is_no_underrun(start: Any) -> None:
    running = await start(look_ahead_s=0.3)
    async with running.session() as socket:
        for text in ("One two three.", "One. Two. Three."):
            await socket.send(text=text)
        spoken_s = sum([(await socket.answer()).end["total_duration_s"] for _ in range(2)])
    found = await numbers(running)
    assert spoken_s > 1.0  # far more than the look-ahead: most of it was held back
    assert found.get("speech_underruns_total(websocket)", 0) == 0


async def test_the_log_has_ids_and_lengths_and_no_text(start: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    running = await start()
    async with running.session() as socket:
        await socket.ask(text="Secret words.", request_id="r-1")
        await socket.ask(text="Secret words.", request_id="r-2", voice="nobody")
    await numbers(running)
    spoken, refused = told(caplog)
    assert (spoken["message"], spoken["request_id"], spoken["text_chars"]) == ("request complete", "r-1", 13)
    assert (spoken["face"], spoken["format"], spoken["code"]) == ("websocket", "pcm", None)
    assert spoken["duration_s"] > 0
    assert spoken["first_audio_s"] >= spoken["queue_s"] >= 0
    assert (refused["message"], refused["request_id"], refused["code"]) == ("request refused", "r-2", "voice_unknown")
    ours = [record for record in caplog.records if record.name.startswith("speech_container")]
    assert "Secret" not in " ".join(str(vars(record)) for record in ours)


async def test_the_log_has_the_text_where_somebody_asked_for_it(start: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    running = await start(log_level="text")
    async with running.session() as socket:
        await socket.ask(text="Plain words.")
    assert [line["text"] for line in told(caplog)] == ["Plain words."]


async def test_embedded_metrics_are_written_at_the_end_at_the_latest(
    start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    running = await start(metrics="emf")
    async with running.session() as socket:
        await socket.ask(text="One.")
        await socket.ask(text="Two.", voice="nobody")
    running.server.should_exit = True
    await asyncio.wait_for(running.task, 20)
    lines = [vars(record)["fields"] for record in caplog.records if record.name == "speech_container.emf"]
    assert [line["Requests"] for line in lines if "Requests" in line] == [2]
    assert [(line["Code"], line["Errors"]) for line in lines if "Code" in line] == [("voice_unknown", 1)]


async def test_a_callers_trace_goes_on_in_the_server(start: Any, spans: Any) -> None:
    running = await start()
    running.service.telemetry.tracer = spans.tracer
    header = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    async with running.session(additional_headers=header) as socket:
        await socket.ask(text="One.")
    await running.http("POST", "/invocations", b'{"text": "Two."}', **header)
    requests = [span for span in spans.finished if span.name == "speech.request"]
    assert [span.attributes["speech.face"] for span in requests] == ["websocket", "invocations"]
    assert {f"{span.context.trace_id:x}" for span in requests} == {"4bf92f3577b34da6a3ce929d0e0e4736"}
