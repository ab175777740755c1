import asyncio
import contextlib
import json
import logging

import pytest
from agent_runtime.model import BedrockWriter
from agent_runtime.request import AgentRequest
from agent_runtime.turn import Services
from speech_protocol import SseDecoder

from packages.agent_runtime.tests.conftest import ScriptedText, make_settings, services, within
from packages.agent_runtime.tests.scripted_bedrock import PATIENCE_S, Fault, Refusal, Script, ScriptedBedrock
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice
from packages.agent_runtime.tests.serving import Served, ask, behind, calling, ping, serving

FIRST = "The sky is blue."
SESSION = "a-session-id-of-at-least-33-characters"


async def test_an_answer_comes_as_server_sent_events() -> None:
    async with (
        serving(behind(ScriptedText([FIRST]), ScriptedVoice())) as running,
        calling(running.url, {"prompt": "Why?"}) as call,
    ):
        events = [event async for event in call.events()]
    assert call.head.startswith("http/1.1 200")
    assert "content-type: text/event-stream" in call.head
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("agent_start", "agent_end")
    assert "audio_chunk" in kinds


async def test_a_real_answer_cut_at_every_byte_gives_the_same_events() -> None:
    async with (
        serving(behind(ScriptedText(["Hi\u2026 ", "you."]), ScriptedVoice())) as running,
        calling(running.url, {"prompt": "Why?"}) as call,
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
    async with serving(behind(text, ScriptedVoice(), max_prompt_chars=12)) as running:
        (event,) = await ask(running.url, payload)
    assert (event["type"], event["code"]) == ("error", code)
    assert text.prompts == []


async def test_what_a_payload_says_about_infrastructure_is_never_seen() -> None:
    served = behind(ScriptedText([FIRST]), ScriptedVoice())
    payload = {"prompt": "Hi", "endpoint_name": "theirs", "region": "xx", "role_arn": "arn:aws:iam::1:role/theirs"}
    async with serving(served) as running:
        await ask(running.url, payload)
    assert served.requests == [AgentRequest("Hi")]


async def test_a_broken_answer_is_our_own_error_event_not_the_library_s(caplog: pytest.LogCaptureFixture) -> None:
    text = ScriptedText([FIRST, RuntimeError("secret")])
    async with serving(behind(text, ScriptedVoice())) as running:
        events = await ask(running.url, {"prompt": "Hi"})
    assert events[-1]["code"] == "internal_error"
    assert "secret" not in json.dumps(events)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == ["turn failed"]


async def test_one_turn_too_many_is_told_busy_and_room_comes_back() -> None:
    rest = asyncio.Event()
    async with serving(behind(ScriptedText([rest, FIRST]), ScriptedVoice(), max_turns=1)) as running:
        async with calling(running.url, {"prompt": "One"}) as first:
            events = first.events()
            assert (await anext(events))["type"] == "agent_start"
            assert (await ping(running.url))["status"] == "HealthyBusy"
            (refused,) = await ask(running.url, {"prompt": "Two"})
            assert refused["code"] == "busy"
            rest.set()
            assert [event["type"] async for event in events][-1] == "agent_end"
        assert (await ask(running.url, {"prompt": "Three"}))[-1]["type"] == "agent_end"
        assert (await ping(running.url))["status"] == "Healthy"


async def test_a_session_s_turns_share_memory_and_speech_and_other_sessions_do_not() -> None:
    text, voice = ScriptedText([FIRST]), ScriptedVoice()
    async with serving(behind(text, voice)) as running:
        for session_id in (SESSION, SESSION, SESSION + "2", None):
            await ask(running.url, {"prompt": "Why?"}, session_id)
    assert [len(remarks) for remarks in text.conversations] == [1, 3, 1, 1]
    assert voice.sessions == 3
    assert voice.transport.open_connections == 0


async def test_a_ping_tells_when_somebody_was_last_served() -> None:
    now_s = 1_000.0
    rest = asyncio.Event()
    served = behind(ScriptedText([rest, FIRST]), ScriptedVoice(), now_s=lambda: now_s)
    async with serving(served) as running:
        assert await ping(running.url) == {"status": "Healthy", "time_of_last_update": 1_000}
        now_s = 1_100.0
        assert await ping(running.url) == {"status": "Healthy", "time_of_last_update": 1_000}
        async with calling(running.url, {"prompt": "One"}) as call:
            events = call.events()
            await anext(events)
            now_s = 1_200.0
            assert await ping(running.url) == {"status": "HealthyBusy", "time_of_last_update": 1_100}
            rest.set()
            assert [event["type"] async for event in events][-1] == "agent_end"
        now_s = 1_300.0
        assert await ping(running.url) == {"status": "Healthy", "time_of_last_update": 1_200}


async def test_a_caller_that_does_not_read_is_let_go(caplog: pytest.LogCaptureFixture) -> None:
    text, voice = ScriptedText(["word. " * 500] * 500), ScriptedVoice()
    async with serving(behind(text, voice, send_timeout_s=0.05)) as running, calling(running.url, {"prompt": "Go on"}):
        await within(text.closed.wait())
        await within(voice.closed.wait())
    assert "the caller does not read" in [record.message for record in caplog.records]


async def test_a_caller_that_does_not_read_slows_its_own_model_and_nobody_else() -> None:
    long_text, other_text = ScriptedText(["word. " * 500] * 500), ScriptedText([FIRST])
    made = iter([(services(long_text), ScriptedVoice()), (services(other_text), ScriptedVoice())])
    async with serving(Served(lambda: next(made))) as running, calling(running.url, {"prompt": "Go on"}) as call:
        async with contextlib.aclosing(call.events()) as unread:
            await anext(unread)
            await until_it_waits(long_text, running.url)
            events = await ask(running.url, {"prompt": "Why?"})
        assert events[-1]["type"] == "agent_end"
        assert long_text.taken < 100


async def until_it_waits(text: ScriptedText, url: str) -> None:
    """Until the model is asked for no more, while others are served."""
    taken = -1
    while text.taken != taken:
        taken = text.taken
        for _ in range(20):
            await ping(url)


async def test_a_caller_that_hangs_up_ends_model_voice_and_tasks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    turns: list[tuple[ScriptedText, ScriptedVoice]] = []

    def make() -> tuple[Services, ScriptedVoice]:
        turns.append((ScriptedText([FIRST + " And", asyncio.Event()]), ScriptedVoice(hold={FIRST: asyncio.Event()})))
        return services(turns[-1][0]), turns[-1][1]

    async with serving(Served(make)) as running:
        assert (await ping(running.url))["status"] == "Healthy"
        before = asyncio.all_tasks()
        for _ in range(50):
            async with calling(running.url, {"prompt": "Why?"}) as call:
                async with contextlib.aclosing(call.events()) as events:
                    async for event in events:
                        if event["type"] == "audio_chunk":
                            break
                call.hang_up()
                text, voice = turns[-1]
                await within(text.closed.wait())
                await within(voice.closed.wait())
        if leaving := asyncio.all_tasks() - before:  # connections that the server is still closing
            _, staying = await asyncio.wait(leaving, timeout=PATIENCE_S)
            assert staying == set()
        assert (await ping(running.url))["status"] == "Healthy"
        assert all(voice.transport.open_connections == 0 for _, voice in turns)
    outcomes = [record.__dict__["outcome"] for record in caplog.records if record.message == "turn ended"]
    assert outcomes == ["caller went away"] * 50
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_whoever_hangs_up_may_ask_again_at_once() -> None:
    text, voice = ScriptedText([FIRST + " And", asyncio.Event()]), ScriptedVoice()
    async with serving(behind(text, voice)) as running:
        for _ in range(10):
            async with calling(running.url, {"prompt": "Why?"}, session_id=SESSION) as call:
                async with contextlib.aclosing(call.events()) as events:
                    kinds = []
                    async for event in events:
                        kinds.append(event["type"])
                        if event["type"] == "audio_chunk":
                            break
                call.hang_up()
            assert "error" not in kinds
    assert voice.transport.open_connections == 0


async def test_the_log_has_ids_and_lengths_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving(behind(ScriptedText(["A secret."]), ScriptedVoice())) as running:
        events = await ask(running.url, {"prompt": "Tell a secret"})
    assert events[-1]["type"] == "agent_end"
    began, ended = (record.__dict__ for record in caplog.records if record.name == "agent_runtime.turns")
    assert (began["prompt_chars"], ended["outcome"]) == (13, "agent_end")
    assert "secret" not in str([record.__dict__ for record in caplog.records])


# With the real Strands agent and boto3 behind it


def real(bedrock: ScriptedBedrock, voice: ScriptedVoice) -> Served:
    made = Services(BedrockWriter(make_settings(bedrock.url), retry_delay_s=0.001).write)
    return Served(lambda: (made, voice))


async def test_the_whole_path_speaks_what_the_model_writes(bedrock: ScriptedBedrock) -> None:
    deltas = ["The sky", " is blue. The sea", " is green."]
    bedrock.scripts = [Script(deltas)]
    voice = ScriptedVoice()
    async with serving(real(bedrock, voice)) as running:
        events = await ask(running.url, {"prompt": "Why?"})
    assert voice.texts == ["The sky is blue.", "The sea is green."]
    assert [event["text"] for event in events if event["type"] == "text_delta"] == deltas
    assert events[-1]["type"] == "agent_end"


async def test_hanging_up_reaches_bedrock_and_the_voice(
    bedrock: ScriptedBedrock, caplog: pytest.LogCaptureFixture
) -> None:
    bedrock.scripts = [Script([FIRST + " And", asyncio.Event()])]
    writer = BedrockWriter(make_settings(bedrock.url))
    voices: list[ScriptedVoice] = []

    def make() -> tuple[Services, ScriptedVoice]:
        voices.append(ScriptedVoice(hold={FIRST: asyncio.Event()}))
        return Services(writer.write), voices[-1]

    async with serving(Served(make)) as running:
        for count in range(1, 26):
            async with calling(running.url, {"prompt": "Why?"}) as call:
                async with contextlib.aclosing(call.events()) as events:
                    async for event in events:
                        if event["type"] == "audio_chunk":
                            break
                call.hang_up()
                await bedrock.until_hung_up(count)
                await within(voices[-1].closed.wait())
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_throttle_is_retried_before_the_first_token_and_an_error_after_it(bedrock: ScriptedBedrock) -> None:
    bedrock.scripts = [
        Refusal(429, "ThrottlingException"),
        Script([FIRST + " And", Fault("throttlingException")]),
        Script(["Not asked for."]),
    ]
    voice = ScriptedVoice()
    async with serving(real(bedrock, voice)) as running:
        events = await ask(running.url, {"prompt": "Why?"})
    assert voice.texts == [FIRST]
    assert [event["code"] for event in events if event["type"] == "error"] == ["model_throttled"]
    assert [event["type"] for event in events][-2:] == ["audio_stream_end", "error"]
    assert len(bedrock.requests) == 2


@pytest.mark.parametrize("deltas", [[], ["Yes"], ["```\nx = 1\n```"]])
async def test_short_answers_end_clearly(bedrock: ScriptedBedrock, deltas: list[str]) -> None:
    bedrock.scripts = [Script(deltas)]
    voice = ScriptedVoice()
    async with serving(real(bedrock, voice)) as running:
        events = await ask(running.url, {"prompt": "Why?"})
    assert voice.texts == [delta for delta in deltas if delta == "Yes"]
    assert events[-1]["type"] == "agent_end"
