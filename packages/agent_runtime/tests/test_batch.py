import asyncio
from collections.abc import AsyncGenerator

import pytest
from agent_runtime.batch import WholeText, run_batch
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.events import AgentEnd, AgentErrorEvent, AgentEvent, AgentStart, AudioChunk
from agent_runtime.request import AgentRequest
from agent_runtime.writer import Pause

from packages.agent_runtime.tests.conftest import (
    ScriptedText,
    ask_bidi,
    audio_of,
    collect,
    conversation_with,
    last_of,
    services,
    text_of,
    types_of,
    within,
)
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice, sound_of

ASK = AgentRequest("Say something.", mode="batch")
DELTAS = ["The sky", " is blue. The", " sea is green.\n"]


def ask_batch(text: ScriptedText, voice: ScriptedVoice) -> AsyncGenerator[AgentEvent]:
    return run_batch(ASK, conversation_with(voice), services(text)).events()


async def test_the_whole_text_is_spoken_in_one_call() -> None:
    voice = ScriptedVoice()
    events = await collect(ask_batch(ScriptedText(DELTAS), voice))
    whole = "The sky is blue. The sea is green."
    assert voice.texts == [whole]
    assert audio_of(events) == sound_of(whole)
    assert [times.text for times in last_of(events, AgentEnd).sentences] == [whole]


async def test_nothing_is_sent_before_the_model_has_finished() -> None:
    rest = asyncio.Event()
    voice = ScriptedVoice()
    events = ask_batch(ScriptedText([*DELTAS, rest]), voice)
    seen = [await within(anext(events)) for _ in range(1 + len(DELTAS))]
    assert isinstance(seen[0], AgentStart)
    await within(voice.opened.wait())
    for _ in range(100):
        await asyncio.sleep(0)
    assert voice.texts == []
    rest.set()
    assert any(isinstance(event, AudioChunk) for event in await collect(events))


async def test_both_modes_tell_the_same_text_with_the_same_events() -> None:
    batch = await collect(ask_batch(ScriptedText(DELTAS), ScriptedVoice()))
    bidi = await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice()))
    assert text_of(batch) == text_of(bidi)
    assert set(types_of(batch)) == set(types_of(bidi))


async def test_a_model_that_fails_in_mid_answer_leaves_nothing_to_speak() -> None:
    voice = ScriptedVoice()
    failure = ModelError(AgentErrorCode.MODEL_FAILED, "the model failed")
    events = await collect(ask_batch(ScriptedText([*DELTAS, failure]), voice))
    assert voice.texts == []
    assert last_of(events, AgentErrorEvent).code == AgentErrorCode.MODEL_FAILED


async def test_a_pause_for_a_tool_does_not_cut_the_text() -> None:
    voice = ScriptedVoice()
    await collect(ask_batch(ScriptedText(["Let me see.", Pause.TOOL, "It is five."]), voice))
    assert voice.texts == ["Let me see.\n\nIt is five."]


@pytest.mark.parametrize("deltas", [[], [" "]])
def test_white_space_is_nothing_to_speak(deltas: list[str]) -> None:
    cutter = WholeText()
    assert [cutter.feed(delta) for delta in deltas] == [[] for _ in deltas]
    assert cutter.flush() == []
