import asyncio

from agent_runtime.request import AgentRequest
from agent_runtime.turns import Turns

from packages.agent_runtime.tests.conftest import ScriptedText, collect, within
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice
from packages.agent_runtime.tests.serving import behind


def turns(text: ScriptedText) -> Turns:
    served = behind(text, ScriptedVoice())
    return Turns(served.answer, served.converse)


async def begun(all_turns: Turns) -> None:
    """Until a turn is under way."""
    for _ in range(1_000):
        if all_turns.active:
            return
        await asyncio.sleep(0)
    raise AssertionError("no turn began")


async def test_draining_waits_for_the_turns_that_run_and_takes_no_more() -> None:
    rest = asyncio.Event()
    all_turns = turns(ScriptedText([rest, "Yes."]))
    async with all_turns.conversations.join(None) as conversation, all_turns.conversations.join(None) as other:
        running = asyncio.create_task(
            collect(all_turns.take(lambda: AgentRequest("One"), conversation, "turn-1").events())
        )
        await begun(all_turns)
        draining = asyncio.create_task(all_turns.drain(60.0))
        await asyncio.sleep(0)
        (refused,) = await collect(all_turns.take(lambda: AgentRequest("Two"), other, "turn-2").events())
        assert getattr(refused, "code", None) == "shutting_down"
        assert not draining.done()
        rest.set()
        assert (await running)[-1].type == "agent_end"
        await within(draining)


async def test_draining_does_not_wait_for_ever() -> None:
    all_turns = turns(ScriptedText([asyncio.Event()]))
    async with all_turns.conversations.join(None) as conversation:
        running = asyncio.create_task(
            collect(all_turns.take(lambda: AgentRequest("One"), conversation, "turn-1").events())
        )
        await begun(all_turns)
        await within(all_turns.drain(0.01))
        assert all_turns.active == 1
        running.cancel()
        await asyncio.wait({running})
        assert all_turns.active == 0


async def test_an_idle_process_drains_at_once() -> None:
    await within(turns(ScriptedText([])).drain(60.0))


async def test_a_turn_that_is_cancelled_before_it_begins_is_not_answered() -> None:
    text = ScriptedText(["Yes."])
    all_turns = turns(text)
    async with all_turns.conversations.join(None) as conversation:
        turn = all_turns.take(lambda: AgentRequest("One"), conversation, "turn-1")
        assert turn.interrupt(0.0) is None
        events = await collect(turn.events())
    assert [event.type for event in events] == ["agent_cancelled"]
    assert text.conversations == []
