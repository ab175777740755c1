"""OpenAI's dialect, spoken by OpenAI's own client over loopback."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI
from speech_container.encoders import CONTENT_TYPES, offered_formats
from speech_container.openai_dialect import OpenAiDialect
from speech_protocol import ErrorCode, ErrorEvent, MessageError, SseDecoder

TEXT = "One is here. Two is here."


@asynccontextmanager
async def client_of(running: Any) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0, timeout=30) as client:
        yield client


async def ours(running: Any, **fields: Any) -> bytes:
    """What /invocations answers."""
    reply = await running.invoke(**fields)
    assert reply.status == 200
    body: bytes = reply.body
    return body


@pytest.mark.parametrize("audio_format", offered_formats())
async def test_every_format_of_ours_is_theirs(start: Any, decode: Any, audio_format: Any) -> None:
    running = await start()
    async with client_of(running) as client:
        answer = await client.audio.speech.create(
            model="tts-1", voice="alloy", input=TEXT, response_format=audio_format, speed=1.25
        )
    assert answer.response.headers["content-type"] == CONTENT_TYPES[audio_format]
    expected = await ours(running, text=TEXT, voice="af_alloy", format=audio_format, speed=1.25)
    if audio_format == "opus":  # each stream of Ogg has a number of its own
        assert np.array_equal(decode(answer.content).samples, decode(expected).samples)
    else:
        assert answer.content == expected


async def test_mp3_is_the_default(start: Any) -> None:
    running = await start()
    async with client_of(running) as client:
        answer = await client.audio.speech.create(model="kokoro-82m", voice="af_bella", input=TEXT)
    assert answer.response.headers["content-type"] == "audio/mpeg"
    assert answer.content == await ours(running, text=TEXT, voice="af_bella", format="mp3")


async def test_a_streaming_answer_begins_before_all_is_spoken(start: Any) -> None:
    running = await start()
    whole = await ours(running, text=TEXT, format="pcm")
    running.engine.forget()
    running.engine.broken_tokens = set()
    async with client_of(running) as client:
        speaking = client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="af_heart", input=TEXT, response_format="pcm"
        )
        async with speaking as answer:
            pieces = [piece async for piece in answer.iter_bytes(4096)]
    assert len(pieces) > 1
    assert b"".join(pieces) == whole


async def test_events_are_those_of_openai(start: Any) -> None:
    running = await start()
    async with client_of(running) as client:
        speaking = client.audio.speech.with_streaming_response.create(
            model="gpt-4o-mini-tts", voice="af_heart", input=TEXT, response_format="pcm", stream_format="sse"
        )
        async with speaking as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            lines = [line async for line in answer.iter_lines()]
    *deltas, done = SseDecoder().feed("\n".join([*lines, "", ""]).encode())
    assert {delta["type"] for delta in deltas} == {"speech.audio.delta"}
    assert set(deltas[0]) == {"type", "audio"}
    audio = b"".join(base64.b64decode(delta["audio"]) for delta in deltas)
    assert audio == await ours(running, text=TEXT, format="pcm")
    assert done["type"] == "speech.audio.done"
    usage = done["usage"]
    assert usage["input_tokens"] == len("One is here.") + len("Two is here.")
    assert usage["output_tokens"] == len(audio) / 2 / 600
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"response_format": "flac"}, "format_unsupported", "response_format"),
        ({"speed": 0.25}, "speed_out_of_range", "speed"),
        ({"speed": 4.0}, "speed_out_of_range", "speed"),
        ({"voice": "nobody"}, "voice_unknown", "voice"),
        ({"voice": {"id": "voice_1234"}}, "voice_unknown", "voice"),
        ({"voice": 3}, "invalid_message", None),
        ({"input": " "}, "text_empty", "input"),
        ({"input": "?!"}, "text_empty", "input"),
        ({"input": ["a"]}, "invalid_message", None),
        ({"input": None}, "invalid_message", None),
        ({"stream_format": "ws"}, "invalid_message", None),
        ({"extra_body": {"language": "tlh"}}, "language_unsupported", "language"),
        ({"extra_body": {"sample_rate": 44100}}, "sample_rate_unsupported", "sample_rate"),
    ],
)
async def test_what_cannot_be_done_is_a_bad_request(
    start: Any, fields: dict[str, Any], code: str, param: str | None
) -> None:
    running = await start()
    asked: dict[str, Any] = {"model": "tts-1", "voice": "alloy", "input": TEXT, **fields}
    async with client_of(running) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            await client.audio.speech.create(**asked)
    error = refused.value
    assert (error.code, error.param, error.type) == (code, param, "invalid_request_error")
    assert error.message


async def test_a_text_too_long_is_413_and_busy_is_503_with_a_time(start: Any) -> None:
    running = await start(max_text_chars=100, max_waiting_segments=1)
    async with client_of(running) as client, running.session() as hog:
        with pytest.raises(openai.APIStatusError) as too_long:
            await client.audio.speech.create(model="tts-1", voice="alloy", input="a" * 101)
        running.engine.hold()
        await hog.send(text="One. Two. Three.")
        await running.engine.busy()
        with pytest.raises(openai.InternalServerError) as busy:
            await client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)
        running.engine.release()
        await hog.answer()
    assert (too_long.value.status_code, too_long.value.code) == (413, "text_too_long")
    assert (busy.value.status_code, busy.value.code, busy.value.type) == (503, "busy", "server_error")
    assert int(busy.value.response.headers["retry-after"]) >= 1


async def test_a_failure_in_mid_stream_is_seen(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    async with client_of(running) as client:
        with pytest.raises(openai.APIConnectionError):
            await client.audio.speech.create(model="tts-1", voice="alloy", input="Fine. Fizz.", response_format="pcm")
    reply = await running.http(
        "POST",
        "/v1/audio/speech",
        json.dumps({"model": "m", "voice": "alloy", "input": "Fine. Fizz.", "stream_format": "sse"}).encode(),
    )
    *_, last = SseDecoder().feed(reply.body)
    assert (last["type"], last["error"]["code"], last["error"]["type"]) == ("error", "synthesis_failed", "server_error")


@pytest.mark.parametrize("body", [b"input=Hi", b"[1]", b"{" * 100_000, b"\xff"])
async def test_a_body_that_is_no_object_is_refused_in_openais_shape(start: Any, body: bytes) -> None:
    running = await start()
    reply = await running.http("POST", "/v1/audio/speech", body)
    assert reply.status == 400
    assert (reply.error["code"], reply.error["type"]) == ("invalid_json", "invalid_request_error")


async def test_models_are_listed(start: Any) -> None:
    running = await start()
    async with client_of(running) as client:
        assert [model.id for model in (await client.models.list()).data] == ["kokoro-82m"]
        assert (await client.models.retrieve("kokoro-82m")).owned_by == "hexgrad"
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("tts-1")


async def test_a_reference_and_a_blend_are_voices_too(start: Any) -> None:
    running = await start()
    voices: tuple[Any, ...] = ({"id": "af_bella"}, "af_bella", "af_bella+af_heart")
    async with client_of(running) as client:
        answers = [
            await client.audio.speech.create(model="m", voice=voice, input=TEXT, response_format="pcm")
            for voice in voices
        ]
    by_id, by_name, blended = (answer.content for answer in answers)
    assert by_id == by_name != blended


async def test_the_openai_body_of_invocations_knows_openais_voices(start: Any) -> None:
    running = await start()
    theirs = await ours(running, input=TEXT, voice="onyx", response_format="pcm")
    assert theirs == await ours(running, text=TEXT, voice="am_onyx", format="pcm")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.RATE_LIMITED, "rate_limit_error"),
        (ErrorCode.SHUTTING_DOWN, "server_error"),
        (ErrorCode.REQUEST_STALE, "invalid_request_error"),
    ],
)
def test_every_error_has_openais_four_fields(code: ErrorCode, kind: str) -> None:
    error = OpenAiDialect().error(ErrorEvent.of(code, "a sentence"))["error"]
    assert error == {"message": "a sentence", "type": kind, "param": None, "code": code.value}


@pytest.mark.parametrize("body", ['{"input": "\\ud800", "voice": "alloy"}', '{"voice": "alloy", "input": 1e999}'])
def test_odd_values_are_messages_errors(body: str) -> None:
    parse: Callable[[bytes, int], object] = OpenAiDialect().parse
    with pytest.raises(MessageError):
        parse(body.encode(), 100)
