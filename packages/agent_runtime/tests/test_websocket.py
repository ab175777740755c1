"""Several turns on one socket, against the app on a real server."""

import asyncio
import json
import logging

import pytest
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.events import MAX_WEBSOCKET_FRAME_BYTES

from packages.agent_runtime.tests.conftest import ScriptedText, within
from packages.agent_runtime.tests.scripted_bedrock import PATIENCE_S
from packages.agent_runtime.tests.scripted_voice import CHAR_S, ScriptedVoice, sound_of
from packages.agent_runtime.tests.serving import ask, behind, ping, serving, talking

FIRST, SECOND = "The sky is blue.", "The sea is green."
ANSWER = f"{FIRST} {SECOND}"
ENDS = ("agent_end", "agent_cancelled", "error")


async def test_an_answer_comes_as_events_in_text_frames_and_bare_audio() -> None:
    async with serving(behind(ScriptedText([ANSWER]), ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        await caller.until(*ENDS)
    assert caller.audio == sound_of(FIRST) + sound_of(SECOND)
    assert caller.kinds == [
        "agent_start",
        "text_delta",
        "audio_stream_start",
        *["timestamps", "audio"] * 2,
        "audio_stream_end",
        "agent_end",
    ]


async def test_both_faces_tell_the_same_events_and_give_the_same_audio() -> None:
    def told(events: list[dict[str, object]]) -> list[str]:
        measured = ("request_id", "ttft_ms", "ttfa_ms", "total_ms", "sentences")
        return [json.dumps({name: value for name, value in event.items() if name not in measured}) for event in events]

    async with serving(behind(ScriptedText([ANSWER]), ScriptedVoice())) as running:
        events = await ask(running.url, {"prompt": "Why?"})
        async with talking(running) as caller:
            await caller.say(type="prompt", prompt="Why?")
            await caller.until(*ENDS)
    by_socket = [frame for frame in caller.frames if isinstance(frame, dict)]
    assert told([event for event in events if event["type"] != "audio_chunk"]) == told(by_socket)


async def test_several_turns_in_a_socket_are_one_conversation() -> None:
    text, voice = ScriptedText([ANSWER]), ScriptedVoice()
    async with serving(behind(text, voice)) as running, talking(running) as caller:
        for prompt in ("Why?", "Really?", "And now?"):
            await caller.say(prompt=prompt)
            assert (await caller.until(*ENDS))["type"] == "agent_end"
    assert [len(remarks) for remarks in text.conversations] == [1, 3, 5]
    assert voice.sessions == 1


@pytest.mark.parametrize("steps", [[FIRST], [FIRST, ModelError(AgentErrorCode.MODEL_FAILED, "the model failed")]])
async def test_whoever_has_the_last_event_may_ask_again_at_once(steps: list[str | Exception]) -> None:
    async with serving(behind(ScriptedText(steps), ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        for _ in range(50):
            last = await caller.until(*ENDS)
            await caller.say(prompt="Really?")
            assert last.get("code") != AgentErrorCode.BUSY
        await caller.until(*ENDS)


async def test_a_socket_and_requests_of_the_same_session_share_the_conversation() -> None:
    text, voice = ScriptedText([ANSWER]), ScriptedVoice()
    session_id = "a-session-id-of-at-least-33-characters"
    async with serving(behind(text, voice)) as running:
        await ask(running.url, {"prompt": "Why?"}, session_id)
        async with talking(running, session_id) as caller:
            await caller.say(prompt="Really?")
            await caller.until(*ENDS)
    assert [remark.text for remark in text.conversations[1]] == ["Why?", ANSWER, "Really?"]
    assert voice.sessions == 1


async def test_a_barge_in_stops_the_answer_and_the_next_one_comes_on_the_same_session() -> None:
    text = ScriptedText([f"{FIRST} And", asyncio.Event()])
    voice = ScriptedVoice(hold={FIRST: asyncio.Event()})
    async with serving(behind(text, voice)) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        await caller.until("audio")
        text.steps = [SECOND]
        await caller.say(type="cancel", played_s=CHAR_S * len("The"))
        await caller.say(prompt="And the sea?")
        cancelled = await caller.until(*ENDS)
        assert (cancelled["type"], cancelled["text_spoken"]) == ("agent_cancelled", "The")
        assert cancelled["text_remaining"] == f"{FIRST} And".removeprefix("The")
        caller.forget()
        voice.hold[FIRST].set()
        assert (await caller.until(*ENDS))["type"] == "agent_end"
        assert caller.audio == sound_of(SECOND)
    assert [remark.text for remark in text.conversations[1]] == ["Why?", "The", "And the sea?"]
    assert voice.sessions == 1


async def test_no_audio_comes_after_a_cancelled_answer_s_end() -> None:
    voice = ScriptedVoice()
    async with serving(behind(ScriptedText([FIRST + " "] * 200), voice)) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        await caller.until("audio")
        await caller.say(type="cancel")
        await caller.until("agent_cancelled")
        caller.forget()
        await caller.say(type="sing")
        assert (await caller.until(*ENDS))["code"] == AgentErrorCode.UNKNOWN_TYPE
        assert caller.kinds == ["error"]


async def test_what_was_delivered_but_not_played_is_taken_back_from_the_memory() -> None:
    text = ScriptedText([ANSWER])
    async with serving(behind(text, ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        turn_id = (await caller.until("agent_start"))["request_id"]
        await caller.until("agent_end")
        await caller.say(type="cancel", request_id=turn_id, played_s=CHAR_S * len("The sky"))
        cancelled = await caller.until(*ENDS)
        assert (cancelled["request_id"], cancelled["text_spoken"]) == (turn_id, "The sky")
        await caller.say(prompt="And now?")
        await caller.until("agent_end")
    assert [remark.text for remark in text.conversations[1]] == ["Why?", "The sky", "And now?"]


async def test_a_cancel_of_another_answer_or_of_none_is_passed_over() -> None:
    async with serving(behind(ScriptedText([ANSWER]), ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(type="cancel")
        await caller.say(prompt="Why?")
        await caller.say(type="cancel", request_id="another")
        assert (await caller.until(*ENDS))["type"] == "agent_end"


async def test_a_second_prompt_in_mid_answer_is_told_busy_and_the_answer_goes_on() -> None:
    rest = asyncio.Event()
    async with serving(behind(ScriptedText([rest, FIRST]), ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        await caller.until("agent_start")
        await caller.say(prompt="And now?")
        assert (await caller.until(*ENDS))["code"] == AgentErrorCode.BUSY
        rest.set()
        assert (await caller.until(*ENDS))["type"] == "agent_end"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", AgentErrorCode.INVALID_JSON),
        (b"\xff\xfe", AgentErrorCode.INVALID_JSON),
        ('{"type": "sing"}', AgentErrorCode.UNKNOWN_TYPE),
        ('{"prompt": " "}', AgentErrorCode.PROMPT_EMPTY),
        ('{"prompt": "Hi", "format": "flac"}', AgentErrorCode.FORMAT_UNSUPPORTED),
    ],
)
async def test_a_bad_message_costs_one_error_and_the_socket_goes_on(message: str | bytes, code: str) -> None:
    async with serving(behind(ScriptedText([FIRST]), ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(message)
        assert (await caller.until(*ENDS))["code"] == code
        await caller.say(json.dumps({"prompt": "Hi"}).encode())
        assert (await caller.until(*ENDS))["type"] == "agent_end"


async def test_what_a_message_says_about_infrastructure_is_never_seen() -> None:
    served = behind(ScriptedText([FIRST]), ScriptedVoice())
    async with serving(served) as running, talking(running) as caller:
        await caller.say(prompt="Hi", endpoint_name="theirs", region="xx", role_arn="arn:aws:iam::1:role/theirs")
        await caller.until("agent_end")
    (request,) = served.requests
    assert "theirs" not in repr(request)


async def test_no_frame_is_larger_than_the_platform_lets_through() -> None:
    text = ScriptedText(["\u20ac \U0001f600 " * 3_000, "One. " * 300])
    async with serving(behind(text, ScriptedVoice())) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        await caller.until("agent_end")
    for frame in caller.frames:
        size = len(frame) if isinstance(frame, bytes) else len(json.dumps(frame))
        assert size <= MAX_WEBSOCKET_FRAME_BYTES


@pytest.mark.parametrize("how", ["closes", "drops"])
async def test_a_caller_that_goes_ends_model_voice_and_tasks(how: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    text, voice = ScriptedText([FIRST + " And", asyncio.Event()]), ScriptedVoice(hold={FIRST: asyncio.Event()})
    async with serving(behind(text, voice)) as running:
        assert (await ping(running.url))["status"] == "Healthy"
        for _ in range(20):
            async with talking(running) as caller:
                await caller.say(prompt="Why?")
                await caller.until("audio")
                if how == "closes":
                    await caller.socket.close()
                else:
                    caller.socket.transport.abort()
                await within(text.closed.wait())
                await within(voice.closed.wait())
            text.closed.clear()
            voice.closed.clear()
        await within(running.turns.drain(PATIENCE_S))
        assert (await ping(running.url))["status"] == "Healthy"
        assert voice.transport.open_connections == 0
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_caller_that_does_not_read_is_let_go(caplog: pytest.LogCaptureFixture) -> None:
    text, voice = ScriptedText(["word. " * 500] * 500), ScriptedVoice()
    served = behind(text, voice, send_timeout_s=0.05)
    async with serving(served) as running, talking(running) as caller:
        await caller.say(prompt="Go on")
        await within(text.closed.wait())
        await within(voice.closed.wait())
        caller.socket.transport.abort()
    assert "the caller does not read" in [record.message for record in caplog.records]


async def test_an_open_socket_that_asks_nothing_is_no_activity() -> None:
    now_s = 1_000.0
    served = behind(ScriptedText([FIRST]), ScriptedVoice(), now_s=lambda: now_s)
    async with serving(served) as running, talking(running) as caller:
        await caller.say(prompt="Why?")
        await caller.until("agent_end")
        now_s = 2_000.0
        assert await ping(running.url) == {"status": "Healthy", "time_of_last_update": 1_000}
