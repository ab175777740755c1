import asyncio

import pytest
from agent_runtime.conversation import Conversation, Conversations
from agent_runtime.errors import AgentErrorCode, RequestError
from agent_runtime.memory import Memory

from packages.agent_runtime.tests.conftest import conversation_with, within
from packages.agent_runtime.tests.scripted_voice import ScriptedVoice


def conversations(limit: int = 2) -> tuple[Conversations, list[ScriptedVoice]]:
    voices: list[ScriptedVoice] = []

    def make() -> Conversation:
        voices.append(ScriptedVoice())
        return conversation_with(voices[-1])

    return Conversations(make, limit), voices


async def test_the_same_id_is_the_same_conversation() -> None:
    kept, _ = conversations()
    async with kept.join("a") as first, kept.join("b") as other:
        pass
    async with kept.join("a") as again:
        assert again is first
    assert other is not first
    await kept.close()


async def test_without_an_id_every_conversation_is_new_and_ends_by_itself() -> None:
    kept, _ = conversations()
    async with kept.join(None) as first, first.speech.use():
        pass
    async with kept.join(None) as second:
        assert second is not first
    assert len(kept) == 0
    await kept.close()


async def test_the_one_that_was_used_longest_ago_is_forgotten_and_its_session_closed() -> None:
    kept, voices = conversations(limit=2)
    async with kept.join("a") as first, first.speech.use():
        pass
    for name in ("b", "a", "c"):
        async with kept.join(name):
            pass
    async with kept.join("a") as still:
        assert still is first
    assert len(kept) == 2
    await kept.close()
    await within(voices[0].closed.wait())
    assert all(voice.transport.open_connections == 0 for voice in voices)


async def test_one_that_is_being_answered_is_not_forgotten() -> None:
    kept, _ = conversations(limit=1)
    async with kept.join("a") as first, first.turn():
        async with kept.join("b"):
            pass
        async with kept.join("a") as still:
            assert still is first
    await kept.close()


async def test_a_second_question_waits_for_an_answer_that_is_about_to_end() -> None:
    conversation = conversation_with(ScriptedVoice())
    order: list[str] = []

    async def ask(name: str, rest: asyncio.Event) -> None:
        async with conversation.turn():
            order.append(name)
            await rest.wait()

    rest = asyncio.Event()
    first, second = (asyncio.create_task(ask(name, rest)) for name in ("first", "second"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert order == ["first"]
    rest.set()
    await within(asyncio.gather(first, second))
    assert order == ["first", "second"]


async def test_a_second_question_in_mid_answer_is_told_busy() -> None:
    conversation = Conversation(Memory(), ScriptedVoice().kept(), patience_s=0.01)
    async with conversation.turn():
        assert conversation.is_answering
        with pytest.raises(RequestError) as refused:
            async with conversation.turn():
                pass
    assert refused.value.code == AgentErrorCode.BUSY
    assert not conversation.is_answering
