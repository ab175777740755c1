"""What happens to an answer's speech when its session is lost, old or full."""

import asyncio
import logging

import pytest
from agent_runtime.errors import AgentErrorCode
from agent_runtime.events import (
    AgentEnd,
    AgentErrorEvent,
    AgentEvent,
    AudioChunk,
    AudioStreamEnd,
    AudioStreamStart,
    SentenceTimestamps,
)
from agent_runtime.request import AgentRequest
from hypothesis import given, settings
from hypothesis import strategies as st
from speech_client import Deadlines, Keeping
from speech_protocol import ErrorCode, ErrorEvent, Timestamps, WordTime

from packages.agent_runtime.tests.conftest import (
    ScriptedText,
    ask_bidi,
    audio_of,
    collect,
    last_of,
    text_of,
    types_of,
    within,
)
from packages.agent_runtime.tests.scripted_voice import CHAR_S, ENCODED_HEAD, FRAME_BYTES, ScriptedVoice, sound_of

FIRST, SECOND, THIRD = "The sky is blue today.", "The sea is greener than that.", "Nobody knows why that is so."
ANSWER = f"{FIRST} {SECOND} {THIRD}"
DELTAS = ["The sky is", " blue today. The", " sea is greener than that. Nobody knows", " why that is so."]
WHOLE = b"".join(map(sound_of, (FIRST, SECOND, THIRD)))


def words_of(events: list[AgentEvent]) -> list[tuple[str, float]]:
    return [
        (word.word, word.start_s) for event in events if isinstance(event, SentenceTimestamps) for word in event.words
    ]


def errors_of(events: list[AgentEvent]) -> list[str]:
    return [event.code for event in events if isinstance(event, AgentErrorEvent)]


@pytest.mark.parametrize("sentence", [FIRST, SECOND, THIRD])
@pytest.mark.parametrize("moment", ["in mid sentence", "before the sentence"])
async def test_a_session_that_dies_is_replaced_and_every_sample_is_heard_once(sentence: str, moment: str) -> None:
    voice = ScriptedVoice(deaths=1)
    if moment == "in mid sentence":
        voice.die_at = sentence
    else:
        voice.die_before = sentence
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert (voice.sessions, voice.deaths) == (2, 0)
    assert audio_of(events) == WHOLE
    assert errors_of(events) == []
    assert [event.duration_s for event in events if isinstance(event, AudioStreamEnd)] == [len(WHOLE) / 48_000]
    assert all(times.done_ms is not None for times in last_of(events, AgentEnd).sentences)


@pytest.mark.parametrize("sentence", [FIRST, SECOND, THIRD])
async def test_the_words_of_a_lost_session_are_told_once_and_stay_on_the_answer_s_clock(sentence: str) -> None:
    undisturbed = words_of(await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice())))
    disturbed = words_of(await collect(ask_bidi(ScriptedText(DELTAS), ScriptedVoice(die_at=sentence, deaths=1))))
    assert [word for word, _ in disturbed] == ANSWER.split()
    assert disturbed == undisturbed


async def test_the_sentence_in_hand_is_said_again_from_its_start_and_nothing_before_it() -> None:
    voice = ScriptedVoice(die_at=SECOND, deaths=1)
    await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert voice.texts[: voice.texts.index(SECOND)] == [FIRST]
    assert voice.texts[-2:] == [SECOND, THIRD]
    assert voice.texts.count(FIRST) == 1


async def test_a_session_that_dies_while_the_model_writes_goes_on_with_what_comes() -> None:
    rest = asyncio.Event()
    voice = ScriptedVoice(die_at=FIRST, deaths=1)
    events = ask_bidi(ScriptedText([*DELTAS[:2], rest, *DELTAS[2:]]), voice)
    seen = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if len(audio_of(seen)) == len(sound_of(FIRST)):
                break
    assert voice.sessions == 2
    rest.set()
    seen += await collect(events)
    assert audio_of(seen) == WHOLE


async def test_without_word_times_all_is_said_again_and_still_every_sample_is_heard_once() -> None:
    voice = ScriptedVoice(die_at=THIRD, deaths=1, with_words=False)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert voice.texts == [FIRST, SECOND, THIRD, FIRST, SECOND, THIRD]
    assert audio_of(events) == WHOLE


async def test_a_voice_that_cannot_be_had_at_first_is_asked_once_more(caplog: pytest.LogCaptureFixture) -> None:
    voice = ScriptedVoice(refuse=ErrorEvent.of(ErrorCode.BUSY, "come back soon", None, 0.01), refusals=1)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert audio_of(events) == WHOLE
    assert (voice.sessions, voice.contexts) == (1, 2)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("refusals", [1, 2])
async def test_a_server_that_shuts_down_is_left_for_another_one(refusals: int) -> None:
    voice = ScriptedVoice(refuse=ErrorEvent.of(ErrorCode.SHUTTING_DOWN, "this server goes"), refusals=refusals)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert voice.sessions == 2
    assert errors_of(events) == ([] if refusals == 1 else [AgentErrorCode.SPEECH_FAILED])


async def test_an_error_that_names_no_context_costs_the_session() -> None:
    voice = ScriptedVoice(complaint=ErrorEvent.of(ErrorCode.INVALID_MESSAGE, "what?"))
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert errors_of(events) == ["invalid_message"]
    assert voice.transport.open_connections == 0


@pytest.mark.parametrize("unasked", [b"ab", Timestamps("", (WordTime("What?", 0.0, 0.5, 0, 5),))])
async def test_a_server_that_speaks_unasked_is_not_trusted(unasked: Timestamps | bytes) -> None:
    voice = ScriptedVoice(unasked=unasked)
    begin = asyncio.Event()
    events = ask_bidi(ScriptedText([begin, *DELTAS]), voice)
    seen = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if isinstance(event, AgentErrorEvent):
                break
    begin.set()
    seen += await collect(events)
    assert errors_of(seen) == [AgentErrorCode.SPEECH_FAILED]
    assert (text_of(seen), voice.sessions) == (ANSWER, 1)


async def test_what_the_server_will_not_do_is_not_asked_again() -> None:
    voice = ScriptedVoice(refuse=ErrorEvent.of(ErrorCode.VOICE_UNKNOWN, "there is no such voice"))
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert voice.contexts == 1
    assert errors_of(events) == ["voice_unknown"]
    assert text_of(events) == ANSWER


async def test_an_encoded_answer_goes_on_in_a_stream_of_its_own_from_the_start_of_the_sentence() -> None:
    voice = ScriptedVoice(die_at=SECOND, deaths=1)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice, AgentRequest("Hi.", format="mp3")))
    kinds = [kind for kind in types_of(events) if kind.startswith("audio")]
    assert [kind for kind in kinds if kind != "audio_chunk"] == ["audio_stream_start", "audio_stream_end"] * 2
    second = next(at for at in range(len(events) - 1, 0, -1) if isinstance(events[at], AudioStreamStart))
    before, after = audio_of(events[:second]), audio_of(events[second:])
    assert before.startswith(ENCODED_HEAD + sound_of(FIRST))
    assert after == ENCODED_HEAD + sound_of(SECOND) + sound_of(THIRD)
    assert [event.seq for event in events if isinstance(event, AudioChunk)] == list(
        range(sum(isinstance(event, AudioChunk) for event in events))
    )
    assert errors_of(events) == []


async def test_an_encoded_answer_that_nobody_can_place_is_not_said_twice() -> None:
    voice = ScriptedVoice(die_at=SECOND, deaths=1, with_words=False)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice, AgentRequest("Hi.", format="mp3")))
    assert errors_of(events) == [AgentErrorCode.SPEECH_FAILED]
    assert voice.sessions == 1


async def test_an_answer_that_outlasts_its_session_changes_to_another_between_two_sentences() -> None:
    now_s = 0.0
    voice = ScriptedVoice(clock=lambda: now_s, keeping=Keeping(renew_s=20 * 60, exchange_s=27 * 60))
    grow_old = asyncio.Event()
    voice.hold[SECOND] = grow_old
    events = ask_bidi(ScriptedText(DELTAS), voice)
    seen = []
    async with asyncio.timeout(10):
        async for event in events:
            seen.append(event)
            if len(audio_of(seen)) > len(sound_of(FIRST)):
                break
    assert voice.sessions == 1
    now_s = 28 * 60.0
    grow_old.set()
    seen += await collect(events)
    assert audio_of(seen) == WHOLE
    assert (voice.sessions, voice.texts) == (2, [FIRST, SECOND, THIRD, THIRD])
    assert errors_of(seen) == []
    assert len([event for event in seen if isinstance(event, AudioStreamStart)]) == 1


async def test_an_answer_that_is_longer_than_a_context_may_be_goes_on_in_the_next() -> None:
    voice = ScriptedVoice(max_text_chars=len(FIRST) + len(SECOND) + 2)
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert (voice.sessions, voice.contexts) == (1, 2)
    assert audio_of(events) == WHOLE
    assert voice.texts == [FIRST, SECOND, THIRD]
    assert [word for word, _ in words_of(events)] == ANSWER.split()


async def test_a_server_that_says_nothing_is_given_up_and_asked_once_more() -> None:
    voice = ScriptedVoice(hold={THIRD: asyncio.Event()}, deadlines=Deadlines(silence_s=0.05))
    events = await collect(ask_bidi(ScriptedText(DELTAS), voice))
    assert voice.sessions == 2
    assert errors_of(events) == [AgentErrorCode.SPEECH_TIMEOUT]
    assert audio_of(events) == sound_of(FIRST) + sound_of(SECOND) + sound_of(THIRD)[:FRAME_BYTES]


async def test_a_context_is_kept_alive_while_the_model_is_silent() -> None:
    rest = asyncio.Event()
    voice = ScriptedVoice()
    events = ask_bidi(ScriptedText([rest, "Yes."]), voice, alive_s=0.01)
    collecting = asyncio.create_task(collect(events))
    await within(voice.keeps_alive.wait())
    rest.set()
    assert audio_of(await collecting) == sound_of("Yes.")


async def test_hanging_up_while_a_session_is_replaced_ends_it() -> None:
    die, hello = asyncio.Event(), asyncio.Event()
    hello.set()
    voice = ScriptedVoice(die_at=FIRST, deaths=1, hold={FIRST: die}, before_hello=hello)
    events = ask_bidi(ScriptedText(DELTAS), voice)
    async with asyncio.timeout(10):
        async for event in events:
            if isinstance(event, AudioChunk):
                break
        hello.clear()
        die.set()
        while voice.sessions < 2:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)
    await within(events.aclose())
    assert voice.transport.open_connections == 0


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["No.", "Yes, of course.", "The kettle is on."]), min_size=1, max_size=6), st.data())
async def test_wherever_a_session_dies_nothing_is_lost_or_doubled(sentences: list[str], data: st.DataObject) -> None:
    numbered = [f"{number}: {sentence}" for number, sentence in enumerate(sentences)]
    dies_at = data.draw(st.sampled_from(numbered))
    voice = ScriptedVoice(die_at=dies_at, deaths=1)
    events = await collect(ask_bidi(ScriptedText([sentence + "\n" for sentence in numbered]), voice))
    assert audio_of(events) == b"".join(map(sound_of, numbered))
    assert errors_of(events) == []
    last_word = words_of(events)[-1]
    assert last_word[1] == pytest.approx(CHAR_S * ("".join(numbered).rindex(last_word[0])))
