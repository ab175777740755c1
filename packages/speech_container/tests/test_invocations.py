"""POST /invocations, through real sockets."""

import base64
import io
import json
import wave
from typing import Any

import numpy as np
import pytest
from speech_protocol import SseDecoder

TEXT = "One is here. Two is here."


async def test_the_four_ways_to_deliver_carry_the_same_audio(start: Any) -> None:
    running = await start()
    streamed = await running.invoke(text=TEXT, format="pcm")
    whole = await running.invoke(text=TEXT, format="pcm", stream=False)
    events = await running.invoke(text=TEXT, format="pcm", transport="sse")
    whole_events = await running.invoke(text=TEXT, format="pcm", transport="sse", stream=False)
    assert streamed.headers["transfer-encoding"] == "chunked"
    assert whole.headers["content-length"] == str(len(whole.body))
    assert {streamed.headers["content-type"], whole.headers["content-type"]} == {"audio/pcm"}
    assert streamed.body
    assert streamed.body == whole.body
    for reply in (events, whole_events):
        assert reply.headers["content-type"] == "text/event-stream"
        first, *chunks, last = SseDecoder().feed(reply.body)
        assert (first["type"], first["format"], first["sample_rate"]) == ("audio_stream_start", "pcm", 24000)
        assert [chunk["seq"] for chunk in chunks] == list(range(len(chunks)))
        assert b"".join(base64.b64decode(chunk["data"]) for chunk in chunks) == streamed.body
        assert last == {
            "type": "audio_stream_end",
            "total_chunks": len(chunks),
            "duration_s": len(streamed.body) / 48_000,
        }


async def test_wav_is_the_default_and_has_true_sizes_when_it_is_whole(start: Any) -> None:
    running = await start()
    streamed = await running.invoke(text=TEXT)
    whole = await running.invoke(text=TEXT, stream=False)
    assert streamed.headers["content-type"] == "audio/wav"
    assert streamed.body[:4] == b"RIFF"
    assert streamed.body[40:44] == b"\xff\xff\xff\xff"
    with wave.open(io.BytesIO(whole.body)) as reader:
        assert reader.readframes(reader.getnframes()) == streamed.body[44:]


@pytest.mark.parametrize(
    ("audio_format", "content_type"),
    [("mp3", "audio/mpeg"), ("opus", "audio/ogg"), ("aac", "audio/mp4"), ("wav", "audio/wav")],
)
async def test_every_format_plays_streamed_whole_and_as_events(
    start: Any, decode: Any, audio_format: str, content_type: str
) -> None:
    running = await start()
    pcm = await running.invoke(text=TEXT, format="pcm", sample_rate=16000)
    length_s = len(pcm.body) / 2 / 16_000
    streamed = await running.invoke(text=TEXT, format=audio_format, sample_rate=16000)
    whole = await running.invoke(text=TEXT, format=audio_format, sample_rate=16000, stream=False)
    events = await running.invoke(text=TEXT, format=audio_format, sample_rate=16000, transport="sse")
    assert {streamed.headers["content-type"], whole.headers["content-type"]} == {content_type}
    for reply in (streamed, whole):
        heard = decode(reply.body)
        assert len(heard.samples) / heard.rate_hz == pytest.approx(length_s, abs=0.11)  # mp3: 1,105 + 576 samples
    heard = decode(whole.body)
    assert len(heard.samples) / heard.rate_hz == pytest.approx(length_s, abs=1e-3)
    assert heard.duration_s == pytest.approx(length_s, abs=0.007)
    first, *chunks, last = SseDecoder().feed(events.body)
    assert (first["format"], first["sample_rate"]) == (audio_format, 16000)
    assert last["duration_s"] == pytest.approx(length_s, abs=1e-3)
    from_events = b"".join(base64.b64decode(chunk["data"]) for chunk in chunks)
    assert np.array_equal(decode(from_events).samples, decode(streamed.body).samples)


async def test_the_openai_body_is_understood(start: Any) -> None:
    running = await start()
    ours = await running.invoke(text=TEXT, voice="af_bella", speed=1.5, format="pcm")
    theirs = await running.invoke(model="kokoro", input=TEXT, voice="af_bella", speed=1.5, response_format="pcm")
    assert theirs.status == 200
    assert theirs.body == ours.body


async def test_the_platforms_accept_header_is_no_trouble(start: Any) -> None:
    running = await start()
    body = json.dumps({"text": TEXT}).encode()
    reply = await running.http("POST", "/invocations", body, **{"X-Amzn-SageMaker-Accept": "audio/mpeg"})
    assert (reply.status, reply.headers["content-type"]) == (200, "audio/wav")


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "invalid_message"),
        ({"text": ""}, 400, "text_empty"),
        ({"text": "?!"}, 400, "text_empty"),
        ({"text": "a" * 10_001}, 413, "text_too_long"),
        ({"text": "Hi.", "voice": "nobody"}, 400, "voice_unknown"),
        ({"text": "Hi.", "format": "flac"}, 400, "format_unsupported"),
        ({"text": "Hi.", "sample_rate": 44100}, 400, "sample_rate_unsupported"),
        ({"text": "Hi.", "language": "tlh"}, 400, "language_unsupported"),
        ({"text": "Hi.", "request_timestamp": 1}, 408, "request_stale"),
    ],
)
async def test_what_a_client_got_wrong_has_a_code_and_a_status(
    start: Any, fields: dict[str, Any], status: int, code: str
) -> None:
    running = await start()
    reply = await running.invoke(request_id="mine", **fields)
    assert reply.status == status
    assert reply.error["code"] == code
    assert reply.error["request_id"] == "mine"
    assert reply.error["message"]


async def test_a_body_that_is_no_json_is_refused(start: Any) -> None:
    running = await start()
    reply = await running.http("POST", "/invocations", b"text=Hi")
    assert (reply.status, reply.error["code"]) == (400, "invalid_json")


async def test_a_body_past_the_limit_is_413(start: Any) -> None:
    running = await start(max_message_bytes=1024)
    reply = await running.http("POST", "/invocations", b" " * 3000)
    assert (reply.status, reply.error["code"]) == (413, "text_too_long")
    assert (await running.invoke(text="Hi.")).status == 200


async def test_busy_says_when_to_come_back(start: Any) -> None:
    running = await start(max_waiting_segments=1)
    async with running.session() as hog:
        running.engine.hold()
        await hog.send(text="One. Two. Three.")
        await running.engine.busy()
        reply = await running.invoke(text="Me.")
        running.engine.release()
        await hog.answer()
    assert (reply.status, reply.error["code"]) == (503, "busy")
    assert int(reply.headers["retry-after"]) >= 1


async def test_an_engine_failure_before_any_audio_is_a_500(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    reply = await running.invoke(text="Fizz. Fine.")
    assert (reply.status, reply.error["code"]) == (500, "synthesis_failed")
    assert "words" not in reply.error["message"]


async def test_an_engine_failure_in_mid_stream_is_no_clean_end(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    audio = await running.invoke(text="Fine. Fizz.")
    assert (audio.status, audio.is_whole) == (200, False)
    events = await running.invoke(text="Fine. Fizz.", transport="sse")
    assert events.is_whole
    *_, last = SseDecoder().feed(events.body)
    assert (last["type"], last["code"]) == ("error", "synthesis_failed")


async def test_an_engine_failure_in_a_whole_answer_is_a_500(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    assert (await running.invoke(text="Fine. Fizz.", stream=False)).status == 500


async def test_a_client_that_hangs_up_stops_its_work(start: Any) -> None:
    running = await start()
    running.engine.hold()
    body = json.dumps({"text": "One. Two. Three. Four."}).encode()
    writer = await running.raw(f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n", body)
    await running.engine.busy()
    writer.close()
    while running.service.running:
        await running.http("GET", "/ping")
    running.engine.release()
    assert (await running.invoke(text="Me.")).status == 200
    assert len(running.engine.batches) == 2, "the line in hand, and the next client's"


async def test_a_client_that_never_reads_is_dropped(start: Any) -> None:
    running = await start(send_timeout_s=0.1, look_ahead_s=100)
    text = " ".join(f"This is sentence {number} of a long text." for number in range(230))
    body = json.dumps({"text": text, "speed": 0.5}).encode()
    writer = await running.raw(f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n", body)
    await running.engine.busy()
    while running.service.running:
        await running.http("GET", "/ping")
    assert len(running.engine.batches) < 230
    writer.close()


async def test_an_id_that_no_header_can_carry_is_no_trouble(start: Any) -> None:
    running = await start()
    assert (await running.invoke(text="Hi.", request_id="ü\r\nx: y")).status == 200
