import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from agent_runtime.answer import Answer
from agent_runtime.app import create_app
from agent_runtime.bidi import run_bidi
from agent_runtime.events import AgentEvent, AgentStart
from agent_runtime.model import BedrockWriter
from agent_runtime.request import AgentRequest
from agent_runtime.turn import Services
from speech_protocol import SseDecoder

from packages.agent_runtime.tests.conftest import (
    PATIENCE_S,
    Fault,
    Refusal,
    Script,
    ScriptedBedrock,
    ScriptedText,
    ScriptedVoice,
    make_settings,
    services,
    within,
)

FIRST = "The sky is blue."


@contextlib.asynccontextmanager
async def serving(answer: Answer, **options: int) -> AsyncIterator[str]:
    """The app on a real server; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(answer, **options), log_config=None, lifespan="on"))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await within(running)


def answer_with(made: Services) -> Answer:
    def answer(request: AgentRequest, request_id: str) -> AsyncGenerator[AgentEvent]:
        return run_bidi(request, made, request_id=request_id)

    return answer


class Call:
    """One HTTP request whose answer is read as it comes, or hung up on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.head = ""
        self.raw = b""

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        decoder = SseDecoder()
        async with asyncio.timeout(PATIENCE_S):
            self.head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
            while data := await self._reader.read(65_536):
                self.raw += data
                for event in decoder.feed(data):
                    yield event

    def hang_up(self) -> None:
        self._writer.transport.abort()


@contextlib.asynccontextmanager
async def calling(url: str, payload: object = None, *, path: str = "/invocations") -> AsyncIterator[Call]:
    """HTTP/1.0, so that the body is the stream itself, up to the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    method = "POST" if path == "/invocations" else "GET"
    writer.write(f"{method} {path} HTTP/1.0\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    try:
        yield Call(reader, writer)
    finally:
        writer.close()


async def ask(url: str, payload: object) -> list[dict[str, Any]]:
    async with calling(url, payload) as call:
        return [event async for event in call.events()]


async def ping(url: str) -> str:
    async with calling(url, path="/ping") as call:
        return str(json.loads((await within(call._reader.read())).split(b"\r\n\r\n", 1)[1])["status"])


async def test_an_answer_comes_as_server_sent_events() -> None:
    voice = ScriptedVoice()
    async with (
        serving(answer_with(services(ScriptedText([FIRST]), voice))) as url,
        calling(url, {"prompt": "Why?"}) as call,
    ):
        events = [event async for event in call.events()]
    assert call.head.startswith("http/1.1 200")
    assert "content-type: text/event-stream" in call.head
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("agent_start", "agent_end")
    assert "audio_chunk" in kinds


async def test_a_real_answer_cut_at_every_byte_gives_the_same_events() -> None:
    async with (
        serving(answer_with(services(ScriptedText(["Hi\u2026 ", "you."]), ScriptedVoice()))) as url,
        calling(url, {"prompt": "Why?"}) as call,
    ):
        events = [event async for event in call.events()]
    assert events[-1]["type"] == "agent_end"
    for at in range(len(call.raw) + 1):
        decoder = SseDecoder()
        assert decoder.feed(call.raw[:at]) + decoder.feed(call.raw[at:]) == events


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"{", "invalid_json"),
        (b"[1]", "invalid_json"),
        (b'{"prompt": 1}', "invalid_request"),
        (b'{"prompt": " "}', "prompt_empty"),
        (b'{"prompt": "a long one, too long"}', "prompt_too_long"),
        (b'{"prompt": "Hi", "mode": "x"}', "mode_unknown"),
        (b" " * 1_100_000, "request_too_large"),
    ],
)
async def test_a_bad_request_is_one_typed_error_and_starts_nothing(payload: bytes, code: str) -> None:
    text = ScriptedText([FIRST])
    async with serving(answer_with(services(text, ScriptedVoice())), max_prompt_chars=12) as url:
        (event,) = await ask(url, payload)
    assert (event["type"], event["code"]) == ("error", code)
    assert text.prompts == []


async def test_what_a_payload_says_about_infrastructure_is_never_seen() -> None:
    seen: list[AgentRequest] = []

    async def answer(request: AgentRequest, request_id: str) -> AsyncGenerator[AgentEvent]:
        seen.append(request)
        yield AgentStart(request_id, request.mode)

    payload = {"prompt": "Hi", "endpoint_name": "theirs", "region": "xx", "role_arn": "arn:aws:iam::1:role/theirs"}
    async with serving(answer) as url:
        await ask(url, payload)
    assert seen == [AgentRequest("Hi")]


async def test_a_broken_answer_is_our_own_error_event_not_the_library_s(caplog: pytest.LogCaptureFixture) -> None:
    text = ScriptedText([FIRST, RuntimeError("secret")])
    async with serving(answer_with(services(text, ScriptedVoice()))) as url:
        events = await ask(url, {"prompt": "Hi"})
    assert events[-1]["code"] == "internal_error"
    assert "secret" not in json.dumps(events)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == ["turn failed"]


async def test_one_turn_too_many_is_told_busy_and_room_comes_back() -> None:
    rest = asyncio.Event()
    async with serving(answer_with(services(ScriptedText([rest, FIRST]), ScriptedVoice())), max_turns=1) as url:
        async with calling(url, {"prompt": "One"}) as first:
            events = first.events()
            assert (await anext(events))["type"] == "agent_start"
            assert await ping(url) == "HealthyBusy"
            (refused,) = await ask(url, {"prompt": "Two"})
            assert refused["code"] == "busy"
            rest.set()
            assert [event["type"] async for event in events][-1] == "agent_end"
        assert (await ask(url, {"prompt": "Three"}))[-1]["type"] == "agent_end"
        assert await ping(url) == "Healthy"


async def test_a_caller_that_hangs_up_ends_model_voice_and_tasks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    turns: list[tuple[ScriptedText, ScriptedVoice]] = []

    def answer(request: AgentRequest, request_id: str) -> AsyncGenerator[AgentEvent]:
        turns.append((ScriptedText([FIRST + " And", asyncio.Event()]), ScriptedVoice(hold={FIRST: asyncio.Event()})))
        return run_bidi(request, services(*turns[-1]), request_id=request_id)

    async with serving(answer) as url:
        assert await ping(url) == "Healthy"
        before = asyncio.all_tasks()
        for _ in range(50):
            async with calling(url, {"prompt": "Why?"}) as call:
                async for event in call.events():
                    if event["type"] == "audio_chunk":
                        break
                call.hang_up()
                text, voice = turns[-1]
                await within(text.closed.wait())
                await within(voice.closed.wait())
        if leaving := asyncio.all_tasks() - before:  # connections that the server is still closing
            _, staying = await asyncio.wait(leaving, timeout=PATIENCE_S)
            assert staying == set()
        assert await ping(url) == "Healthy"
    outcomes = [record.__dict__["outcome"] for record in caplog.records if record.message == "turn ended"]
    assert outcomes == ["caller went away"] * 50
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_the_log_has_ids_and_lengths_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving(answer_with(services(ScriptedText(["A secret."]), ScriptedVoice()))) as url:
        events = await ask(url, {"prompt": "Tell a secret"})
    assert events[-1]["type"] == "agent_end"
    began, ended = (record.__dict__ for record in caplog.records if record.name == "agent_runtime.app")
    assert (began["prompt_chars"], ended["outcome"]) == (13, "agent_end")
    assert "secret" not in str([record.__dict__ for record in caplog.records])


# With the real Strands agent and boto3 behind it


def real(bedrock: ScriptedBedrock, voice: ScriptedVoice) -> Answer:
    writer = BedrockWriter(make_settings(bedrock.url), retry_delay_s=0.001)
    return answer_with(Services(writer.write, voice.open_session))


async def test_the_whole_path_speaks_what_the_model_writes(bedrock: ScriptedBedrock) -> None:
    deltas = ["The sky", " is blue. The sea", " is green."]
    bedrock.scripts = [Script(deltas)]
    voice = ScriptedVoice()
    async with serving(real(bedrock, voice)) as url:
        events = await ask(url, {"prompt": "Why?"})
    assert voice.texts == ["The sky is blue.", "The sea is green."]
    assert [event["text"] for event in events if event["type"] == "text_delta"] == deltas
    assert events[-1]["type"] == "agent_end"


async def test_hanging_up_reaches_bedrock_and_the_voice(
    bedrock: ScriptedBedrock, caplog: pytest.LogCaptureFixture
) -> None:
    bedrock.scripts = [Script([FIRST + " And", asyncio.Event()])]
    voices = [ScriptedVoice(hold={FIRST: asyncio.Event()}) for _ in range(25)]
    writer = BedrockWriter(make_settings(bedrock.url))
    spoken = iter(voices)

    def answer(request: AgentRequest, request_id: str) -> AsyncGenerator[AgentEvent]:
        return run_bidi(request, Services(writer.write, next(spoken).open_session), request_id=request_id)

    async with serving(answer) as url:
        for count, voice in enumerate(voices, 1):
            async with calling(url, {"prompt": "Why?"}) as call:
                async for event in call.events():
                    if event["type"] == "audio_chunk":
                        break
                call.hang_up()
                await bedrock.until_hung_up(count)
                await within(voice.closed.wait())
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_throttle_is_retried_before_the_first_token_and_an_error_after_it(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [
        Refusal(429, "ThrottlingException"),
        Script([FIRST + " And", Fault("throttlingException")]),
        Script(["Not asked for."]),
    ]
    voice = ScriptedVoice()
    async with serving(real(bedrock, voice)) as url:
        events = await ask(url, {"prompt": "Why?"})
    assert voice.texts == [FIRST]
    assert [event["code"] for event in events if event["type"] == "error"] == ["model_throttled"]
    assert [event["type"] for event in events][-2:] == ["audio_stream_end", "error"]
    assert len(bedrock.requests) == 2


@pytest.mark.parametrize("deltas", [[], ["Yes"]])
async def test_short_answers_end_clearly(bedrock: ScriptedBedrock, deltas: list[str]) -> None:
    bedrock.scripts = [Script(deltas)]
    voice = ScriptedVoice()
    async with serving(real(bedrock, voice)) as url:
        events = await ask(url, {"prompt": "Why?"})
    assert voice.texts == deltas
    assert events[-1]["type"] == "agent_end"
