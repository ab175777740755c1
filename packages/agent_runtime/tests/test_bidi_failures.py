"""An answer whose voice or model fails in the middle of it, or whose caller hangs up or does not read."""

import asyncio
import contextlib
import logging

import pytest
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.events import AgentEnd, AgentErrorEvent, AudioChunk
from agent_runtime.voice import MAX_WAITING_PIECES
from speech_client import Deadlines
from speech_protocol import ErrorCode, ErrorEvent

from packages.agent_runtime.tests.conftest import (
    DELTAS,
    FIRST,
    SECOND,
    ScriptedText,
    ask_bidi,
    audio_of,
    collect,
    last_of,
    text_of,
    types_of,
    within,
)
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice, sound_of


async def test_a_refused_voice_is_one_error_and_the_text_goes_on() -> None:
    voice = ScriptedVoice(refuse=ErrorEvent.of(ErrorCode.VOICE_UNKNOWN, "there is no such voice"))
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert [event for event in events if isinstance(event, AgentErrorEvent)] == [
        AgentErrorEvent("voice_unknown", "there is no such voice")
    ]
    assert text_of(events) == "".join(DELTAS)
    last_of(events, AgentEnd)


async def test_a_voice_that_dies_twice_in_mid_answer_is_one_error_and_the_text_goes_on() -> None:
    rest = asyncio.Event()
    text, voice = ScriptedText([*DELTAS[:3], rest, DELTAS[3]]), ScriptedVoice(die_at=SECOND)
    events = ask_bidi(text, voice)
    seen = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if isinstance(event, AgentErrorEvent):
                break
    assert seen[-1] == AgentErrorEvent(AgentErrorCode.SPEECH_FAILED, "the voice failed; the text goes on")
    assert audio_of(seen).startswith(sound_of(FIRST))
    assert sound_of(SECOND).startswith(audio_of(seen)[len(sound_of(FIRST)) :])
    assert voice.sessions == 2
    assert types_of(seen)[-2:] == ["audio_stream_end", "error"]
    rest.set()
    seen += await collect(events)
    assert text_of(seen) == "".join(DELTAS)
    end = last_of(seen, AgentEnd)
    assert [times.done_ms is None for times in end.sentences] == [False, True, True]


async def test_a_voice_that_goes_silent_is_one_error_and_the_text_goes_on() -> None:
    voice = ScriptedVoice(hold={FIRST: asyncio.Event()}, deadlines=Deadlines(first_audio_s=0.05, silence_s=0.05))
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert [event.code for event in events if isinstance(event, AgentErrorEvent)] == [AgentErrorCode.SPEECH_TIMEOUT]
    assert text_of(events) == "".join(DELTAS)
    last_of(events, AgentEnd)


async def test_a_voice_that_stops_by_itself_is_one_error() -> None:
    voice = ScriptedVoice(cancels=True)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert [event.code for event in events if isinstance(event, AgentErrorEvent)] == ["cancelled"]
    last_of(events, AgentEnd)


async def test_a_model_that_waits_for_a_voice_that_fails_goes_on() -> None:
    deltas = ["No. "] * (MAX_WAITING_PIECES + 40)
    speak_on = asyncio.Event()
    text, voice = ScriptedText(deltas), ScriptedVoice(hold={"No.": speak_on}, die_at="No.")
    events = ask_bidi(text, voice, queued_events=1000)
    seen = [await within(anext(events)) for _ in range(MAX_WAITING_PIECES)]
    speak_on.set()
    seen += await collect(events)
    assert text_of(seen) == "".join(deltas)
    last_of(seen, AgentEnd)


async def test_a_model_that_fails_in_mid_answer_is_heard_as_far_as_it_came() -> None:
    failure = ModelError(AgentErrorCode.MODEL_THROTTLED, "the model is busy")
    voice = ScriptedVoice()
    events = await collect(ask_bidi(ScriptedText([*DELTAS[:3], failure]), voice))
    assert audio_of(events) == sound_of(FIRST) + sound_of(SECOND)
    assert types_of(events)[-2:] == ["audio_stream_end", "error"]
    assert last_of(events, AgentErrorEvent) == AgentErrorEvent("model_throttled", "the model is busy")


async def test_a_model_that_fails_before_its_first_token_is_one_error() -> None:
    failure = ModelError(AgentErrorCode.MODEL_ACCESS_DENIED, "no access")
    events = await collect(ask_bidi(ScriptedText([failure]), ScriptedVoice()))
    assert types_of(events) == ["agent_start", "error"]


async def test_an_unexpected_failure_is_an_internal_error_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    events = await collect(ask_bidi(ScriptedText(["Yes", KeyError("secret")]), ScriptedVoice()))
    error = last_of(events, AgentErrorEvent)
    assert error.code == AgentErrorCode.INTERNAL_ERROR
    assert "secret" not in error.message
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_hanging_up_after_the_first_audio_ends_everything_quietly(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    before = asyncio.all_tasks()
    for _ in range(60):
        text = ScriptedText([*DELTAS[:2], asyncio.Event()])
        voice = ScriptedVoice(hold={FIRST: asyncio.Event()})
        events = ask_bidi(text, voice)
        async for event in events:
            if isinstance(event, AudioChunk):
                break
        if how == "closed":
            await within(events.aclose())
        else:
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await within(waiting)
        assert text.closed.is_set()
        assert voice.closed.is_set()
        assert asyncio.all_tasks() == before
    assert caplog.records == []


async def test_a_caller_that_does_not_read_makes_the_model_wait() -> None:
    text, voice = ScriptedText(["word "] * 500), ScriptedVoice()
    events = ask_bidi(text, voice, queued_events=4)
    await within(anext(events))
    for _ in range(1000):
        await asyncio.sleep(0)
    assert text.taken < 10
    await within(events.aclose())
    assert text.closed.is_set()
