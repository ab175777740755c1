import asyncio

import pytest
from agent_runtime.batch import WholeText, run_batch
from agent_runtime.bidi import run_bidi
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.events import AgentEnd, AgentErrorEvent, AgentStart, AudioChunk
from agent_runtime.request import AgentRequest

from packages.agent_runtime.tests.conftest import (
    ScriptedText,
    ScriptedVoice,
    audio_of,
    collect,
    last_of,
    services,
    sound_of,
    text_of,
    types_of,
    within,
)

ASK = AgentRequest("Say something.", mode="batch")
DELTAS = ["The sky", " is blue. The", " sea is green.\n"]


async def test_the_whole_text_is_spoken_in_one_call() -> None:
    voice = ScriptedVoice()
    events = await collect(run_batch(ASK, services(ScriptedText(DELTAS), voice)))
    whole = "The sky is blue. The sea is green."
    assert voice.texts == [whole]
    assert audio_of(events) == sound_of(whole)
    assert [times.text for times in last_of(events, AgentEnd).sentences] == [whole]


async def test_nothing_is_sent_before_the_model_has_finished() -> None:
    rest = asyncio.Event()
    voice = ScriptedVoice()
    events = run_batch(ASK, services(ScriptedText([*DELTAS, rest]), voice))
    seen = [await within(anext(events)) for _ in range(1 + len(DELTAS))]
    assert isinstance(seen[0], AgentStart)
    await within(voice.opened.wait())
    for _ in range(100):
        await asyncio.sleep(0)
    assert voice.texts == []
    rest.set()
    assert any(isinstance(event, AudioChunk) for event in await collect(events))


async def test_both_modes_tell_the_same_text_with_the_same_events() -> None:
    batch = await collect(run_batch(ASK, services(ScriptedText(DELTAS), ScriptedVoice())))
    bidi = await collect(run_bidi(AgentRequest("Say."), services(ScriptedText(DELTAS), ScriptedVoice())))
    assert text_of(batch) == text_of(bidi)
    assert set(types_of(batch)) == set(types_of(bidi))


async def test_a_model_that_fails_in_mid_answer_leaves_nothing_to_speak() -> None:
    voice = ScriptedVoice()
    failure = ModelError(AgentErrorCode.MODEL_FAILED, "the model failed")
    events = await collect(run_batch(ASK, services(ScriptedText([*DELTAS, failure]), voice)))
    assert voice.texts == []
    assert last_of(events, AgentErrorEvent).code == AgentErrorCode.MODEL_FAILED


@pytest.mark.parametrize("deltas", [[], [" "]])
def test_white_space_is_nothing_to_speak(deltas: list[str]) -> None:
    cutter = WholeText()
    assert [cutter.feed(delta) for delta in deltas] == [[] for _ in deltas]
    assert cutter.flush() == []
