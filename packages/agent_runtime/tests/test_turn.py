"""What a turn leaves in the conversation's memory, and what interrupting it does."""

import asyncio
from collections.abc import Callable

import pytest
from agent_runtime.batch import run_batch
from agent_runtime.bidi import run_bidi
from agent_runtime.conversation import Conversation
from agent_runtime.errors import AgentErrorCode, ModelError
from agent_runtime.events import AgentCancelled, AgentEnd, AgentEvent, AudioChunk
from agent_runtime.request import AgentRequest
from agent_runtime.turn import Turn
from speech_protocol import ErrorCode, ErrorEvent

from packages.agent_runtime.tests.conftest import (
    ScriptedText,
    audio_of,
    collect,
    conversation_with,
    services,
    text_of,
    types_of,
    within,
)
from packages.agent_runtime.tests.scripted_voice import CHAR_S, ScriptedVoice, sound_of

FIRST, SECOND = "The sky is blue.", "The sea is green."
ANSWER = f"{FIRST} {SECOND}"


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def turn(
    text: ScriptedText, conversation: Conversation, prompt: str = "Why?", clock: Callable[[], float] | None = None
) -> Turn:
    made = services(text) if clock is None else services(text, clock=clock)
    return run_bidi(AgentRequest(prompt), conversation, made, request_id="turn-1")


def remembered(conversation: Conversation) -> list[str]:
    return [remark.text for remark in conversation.memory.remarks("And now?")]


class Taken:
    """A turn that is taken event by event."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.stream = turn.events()
        self.seen: list[AgentEvent] = []

    async def until(self, holds: Callable[[list[AgentEvent]], bool]) -> None:
        """Take events up to the first moment at which something holds of them."""
        async with asyncio.timeout(10):
            while not holds(self.seen):
                self.seen.append(await anext(self.stream))

    async def rest(self) -> list[AgentEvent]:
        """What comes from here on."""
        return await collect(self.stream)


async def test_the_next_turn_is_given_what_was_said_before() -> None:
    conversation = conversation_with(ScriptedVoice())
    text = ScriptedText([ANSWER])
    await collect(turn(text, conversation, "Why?").events())
    await collect(turn(text, conversation, "Really?").events())
    assert [[remark.text for remark in remarks] for remarks in text.conversations] == [
        ["Why?"],
        ["Why?", ANSWER, "Really?"],
    ]
    assert [remark.is_users for remark in text.conversations[1]] == [True, False, True]


async def test_turns_of_a_conversation_share_one_speech_session() -> None:
    voice = ScriptedVoice()
    conversation = conversation_with(voice)
    for _ in range(3):
        assert audio_of(await collect(turn(ScriptedText([FIRST]), conversation).events())) == sound_of(FIRST)
    assert (voice.sessions, voice.contexts) == (1, 3)


async def test_a_conversation_of_35_minutes_changes_its_speech_session_between_two_answers() -> None:
    clock = Clock()
    voice = ScriptedVoice(clock=clock)
    conversation = conversation_with(voice)
    sessions = []
    for _ in range(36):
        events = await collect(turn(ScriptedText([FIRST]), conversation).events())
        assert (audio_of(events), types_of(events)[-1]) == (sound_of(FIRST), "agent_end")
        sessions.append(voice.sessions)
        clock.now_s += 60
    assert sessions == [1] * 20 + [2] * 16
    await conversation.close()
    assert voice.transport.open_connections == 0


async def test_both_modes_remember() -> None:
    conversation = conversation_with(ScriptedVoice())
    request = AgentRequest("Why?", mode="batch")
    await collect(run_batch(request, conversation, services(ScriptedText([ANSWER]))).events())
    assert remembered(conversation) == ["Why?", ANSWER, "And now?"]


async def test_an_answer_without_text_is_as_if_it_had_not_been_asked() -> None:
    conversation = conversation_with(ScriptedVoice())
    failure = ModelError(AgentErrorCode.MODEL_THROTTLED, "the model is busy")
    for steps in ([], [failure]):
        await collect(turn(ScriptedText(steps), conversation).events())
    assert remembered(conversation) == ["And now?"]


async def test_an_answer_that_broke_off_is_remembered_as_far_as_it_came() -> None:
    conversation = conversation_with(ScriptedVoice())
    failure = ModelError(AgentErrorCode.MODEL_FAILED, "the model failed")
    await collect(turn(ScriptedText([FIRST, " The", failure]), conversation).events())
    assert remembered(conversation) == ["Why?", f"{FIRST} The", "And now?"]


# Interrupting


async def test_an_interrupted_answer_ends_with_what_was_heard_to_the_word() -> None:
    voice = ScriptedVoice(hold={SECOND: asyncio.Event()})
    conversation = conversation_with(voice)
    taken = Taken(turn(ScriptedText([ANSWER]), conversation))
    await taken.until(lambda seen: len(audio_of(seen)) > len(sound_of(FIRST)))
    assert taken.turn.interrupt(played_s=CHAR_S * len(FIRST + "The")) is None
    rest = await taken.rest()
    spoken = f"{FIRST} The"
    played_s = round(CHAR_S * len(FIRST + "The"), 3)
    assert rest == [AgentCancelled("turn-1", spoken, ANSWER.removeprefix(spoken), played_s)]
    assert remembered(conversation) == ["Why?", spoken, "And now?"]


async def test_nothing_of_what_was_queued_comes_after_an_interruption() -> None:
    conversation = conversation_with(ScriptedVoice())
    taken = Taken(turn(ScriptedText([ANSWER] * 20), conversation))
    await taken.until(lambda seen: bool(audio_of(seen)))
    for _ in range(200):
        await asyncio.sleep(0)  # the queue fills up
    taken.turn.interrupt(0.0)
    assert types_of(await taken.rest()) == ["agent_cancelled"]


async def test_an_interruption_stops_model_and_synthesis_and_keeps_the_session() -> None:
    voice = ScriptedVoice(hold={FIRST: asyncio.Event()})
    conversation = conversation_with(voice)
    text = ScriptedText([f"{FIRST} And", asyncio.Event()])
    taken = Taken(turn(text, conversation))
    await taken.until(lambda seen: bool(audio_of(seen)))
    taken.turn.interrupt(0.05)
    await taken.rest()
    assert text.closed.is_set()
    assert len(voice.cancelled) == 1
    voice.hold[FIRST].set()
    events = await collect(turn(ScriptedText([SECOND]), conversation).events())
    assert audio_of(events) == sound_of(SECOND)
    assert (voice.sessions, types_of(events)[-1]) == (1, "agent_end")


async def test_what_is_played_cannot_be_more_than_was_delivered() -> None:
    voice = ScriptedVoice(hold={SECOND: asyncio.Event()})
    taken = Taken(turn(ScriptedText([ANSWER]), conversation_with(voice)))
    await taken.until(lambda seen: len(audio_of(seen)) == len(sound_of(FIRST)))
    taken.turn.interrupt(3600.0)
    (cancelled,) = await taken.rest()
    assert isinstance(cancelled, AgentCancelled)
    assert cancelled.text_spoken == FIRST
    assert cancelled.played_s == pytest.approx(CHAR_S * len(FIRST))


async def test_without_a_position_what_can_have_been_heard_counts() -> None:
    clock = Clock()
    voice = ScriptedVoice(hold={SECOND: asyncio.Event()})
    conversation = conversation_with(voice)
    taken = Taken(turn(ScriptedText([ANSWER]), conversation, clock=clock))
    await taken.until(lambda seen: len(audio_of(seen)) > len(sound_of(FIRST)))
    clock.now_s += CHAR_S * len("The sky is")
    taken.turn.interrupt()
    (cancelled,) = await taken.rest()
    assert isinstance(cancelled, AgentCancelled)
    assert cancelled.text_spoken == "The sky is"


async def test_an_answer_that_is_delivered_but_not_played_can_be_interrupted() -> None:
    conversation = conversation_with(ScriptedVoice())
    done = turn(ScriptedText([ANSWER]), conversation)
    assert isinstance((await collect(done.events()))[-1], AgentEnd)
    assert remembered(conversation) == ["Why?", ANSWER, "And now?"]
    cancelled = done.interrupt(CHAR_S * len("The sky"))
    assert cancelled is not None
    assert (cancelled.text_spoken, cancelled.text_remaining) == ("The sky", ANSWER.removeprefix("The sky"))
    assert remembered(conversation) == ["Why?", "The sky", "And now?"]
    assert done.interrupt(5.0) is None


async def test_an_interruption_may_come_while_the_last_event_is_on_its_way() -> None:
    conversation = conversation_with(ScriptedVoice())
    taken = Taken(turn(ScriptedText([ANSWER]), conversation))
    await taken.until(lambda seen: bool(seen) and isinstance(seen[-1], AgentEnd))
    taken.turn.interrupt(CHAR_S * len("The sky"))
    (cancelled,) = await taken.rest()
    assert isinstance(cancelled, AgentCancelled)
    assert cancelled.text_spoken == "The sky"
    assert remembered(conversation) == ["Why?", "The sky", "And now?"]


async def test_what_was_played_to_the_end_has_been_spoken_with_all_that_makes_no_sound() -> None:
    text = f"{FIRST}\n```\nx = 1\n```"
    conversation = conversation_with(ScriptedVoice())
    done = turn(ScriptedText([text]), conversation)
    await collect(done.events())
    cancelled = done.interrupt(60.0)
    assert cancelled is not None
    assert (cancelled.text_spoken, cancelled.text_remaining) == (text, "")


async def test_interrupting_before_anything_was_heard_leaves_the_question_open() -> None:
    conversation = conversation_with(ScriptedVoice())
    taken = Taken(turn(ScriptedText([asyncio.Event()]), conversation, "Tell me about"))
    await taken.until(lambda seen: types_of(seen) == ["agent_start"])
    taken.turn.interrupt(0.0)
    await taken.rest()
    assert remembered(conversation) == ["Tell me about\n\nAnd now?"]


async def test_an_answer_that_could_only_be_read_was_read() -> None:
    refusal = ErrorEvent.of(ErrorCode.VOICE_UNKNOWN, "there is no such voice")
    conversation = conversation_with(ScriptedVoice(refuse=refusal))
    taken = Taken(turn(ScriptedText([ANSWER, asyncio.Event()]), conversation))
    await taken.until(lambda seen: text_of(seen) == ANSWER and "error" in types_of(seen))
    taken.turn.interrupt(0.0)
    (cancelled,) = await taken.rest()
    assert isinstance(cancelled, AgentCancelled)
    assert cancelled.text_spoken == ANSWER


# Hanging up


async def test_a_caller_that_hangs_up_has_heard_what_there_was_time_for() -> None:
    clock = Clock()
    conversation = conversation_with(ScriptedVoice())
    taken = Taken(turn(ScriptedText([ANSWER, asyncio.Event()]), conversation, clock=clock))
    await taken.until(lambda seen: len(audio_of(seen)) == len(sound_of(FIRST)))
    clock.now_s += CHAR_S * len("The sky is")
    await within(taken.stream.aclose())
    assert remembered(conversation) == ["Why?", "The sky is", "And now?"]


async def test_a_caller_that_hangs_up_before_anything_was_heard_has_asked_nothing() -> None:
    conversation = conversation_with(ScriptedVoice())
    taken = Taken(turn(ScriptedText([asyncio.Event()]), conversation))
    await taken.until(lambda seen: bool(seen))
    await within(taken.stream.aclose())
    assert remembered(conversation) == ["And now?"]


async def test_a_turn_that_is_interrupted_before_it_began_says_so_and_starts_nothing() -> None:
    voice = ScriptedVoice()
    text = ScriptedText([ANSWER])
    unwanted = turn(text, conversation_with(voice))
    unwanted.interrupt()
    assert await collect(unwanted.events()) == [AgentCancelled("turn-1", "", "", 0.0)]
    assert (text.conversations, voice.sessions) == ([], 0)


async def test_audio_chunks_know_where_they_end_on_the_answer_s_clock() -> None:
    events = await collect(turn(ScriptedText([ANSWER]), conversation_with(ScriptedVoice())).events())
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    heard = 0
    for chunk in chunks:
        heard += len(chunk.data)
        assert chunk.end_s == pytest.approx(heard / 48_000)
