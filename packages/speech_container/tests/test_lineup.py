"""The sentences of one session, in the order of its answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from speech_container.context import Sentence, TextContext
from speech_container.errors import Refusal
from speech_container.lineup import Entry, Lineup
from speech_container.narration import Narrator
from speech_container.spelling import Spelling, SpellingFrontEnd
from speech_container.synthesis import Recitation, Synthesis
from speech_container.tone_engine import ToneEngine
from speech_container.turn import Turn
from speech_container.voices import VoiceBook
from speech_protocol import ErrorCode, Synthesize
from speech_text import IncrementalSentenceChunker

NARRATOR = Narrator(SpellingFrontEnd(), Spelling(), VoiceBook.of_tones())


def request(text: str) -> Turn:
    return Turn(text, Synthesize(text))


def context(name: str = "c") -> Turn:
    return Turn(name, Synthesize("", request_id=name), TextContext(IncrementalSentenceChunker("en"), 1000))


class Desk:
    """Queues sentences at a real engine, notes which, and refuses some."""

    def __init__(self, synthesis: Synthesis) -> None:
        self.synthesis = synthesis
        self.recited: list[str] = []
        self.refusals: list[Refusal] = []

    async def recite(self, request: Synthesize) -> Recitation:
        if self.refusals:
            raise self.refusals.pop(0)
        recitation = self.synthesis.recite(1, NARRATOR.script(request))
        self.recited.append(request.text)
        return recitation


@pytest.fixture
async def at_desk() -> AsyncIterator[Callable[..., Any]]:
    """A lineup that runs, and the desk that it goes to."""
    synthesis = Synthesis(ToneEngine(), max_waiting_segments=1000, look_ahead_s=1000)
    await synthesis.start()

    @asynccontextmanager
    async def work() -> AsyncIterator[tuple[Lineup, Desk]]:
        desk = Desk(synthesis)
        lineup = Lineup(desk.recite)
        running = asyncio.create_task(lineup.run())
        try:
            yield lineup, desk
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    yield work
    await synthesis.stop()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def following(entry: Entry) -> list[str]:
    """The sentences that are left, each heard to its end."""
    found = []
    while (part := await entry.next()) is not None:
        sentence, recitation = part
        with recitation:
            assert [spoken async for spoken in recitation]
        found.append(sentence.text)
    return found


async def test_sentences_are_queued_in_the_order_of_the_answers(at_desk: Any) -> None:
    async with at_desk() as (lineup, desk):
        slow, behind = lineup.enter(context()), lineup.enter(request("Behind."))
        behind.add((Sentence("Behind."),), is_all=True)
        slow.add((Sentence("One."),), is_all=False)
        await settle()
        assert desk.recited == ["One."]
        slow.add((Sentence("Two.", 5),), is_all=True)
        assert await following(slow) == ["One.", "Two."]
        assert await following(behind) == ["Behind."]
        assert desk.recited == ["One.", "Two.", "Behind."]


async def test_a_sentence_without_a_word_is_passed_over_in_a_context(at_desk: Any) -> None:
    async with at_desk() as (lineup, _):
        entry = lineup.enter(context())
        entry.add((Sentence("***"), Sentence("One."), Sentence("😀")), is_all=True)
        assert await following(entry) == ["One."]


@pytest.mark.parametrize("turn", [request("***"), context()], ids=["request", "context"])
async def test_a_turn_without_a_word_is_refused(at_desk: Any, turn: Turn) -> None:
    async with at_desk() as (lineup, _):
        entry = lineup.enter(turn)
        entry.add((Sentence("***"),), is_all=True)
        with pytest.raises(Refusal) as refusal:
            await entry.next()
    assert refusal.value.code is ErrorCode.TEXT_EMPTY


async def test_a_full_queue_refuses_the_beginning_and_delays_what_follows(at_desk: Any) -> None:
    full = Refusal(ErrorCode.BUSY, "full", 0.001)
    async with at_desk() as (lineup, desk):
        desk.refusals = [full]
        entry = lineup.enter(context())
        entry.add((Sentence("One."),), is_all=False)
        with pytest.raises(Refusal) as refusal:
            await entry.next()
        assert refusal.value is full

        entry = lineup.enter(context())
        entry.add((Sentence("One."),), is_all=False)
        assert await entry.next() is not None
        desk.refusals = [full] * 5
        entry.add((Sentence("Two."),), is_all=True)
        assert await following(entry) == ["Two."]
        assert desk.refusals == []


async def test_what_was_made_before_a_failure_is_delivered_first(at_desk: Any) -> None:
    async with at_desk() as (lineup, desk):
        entry = lineup.enter(context())
        entry.add((Sentence("One."),), is_all=False)
        await settle()
        desk.refusals = [Refusal(ErrorCode.SHUTTING_DOWN, "over")]
        entry.add((Sentence("Two."), Sentence("Three.")), is_all=True)
        await settle()
        part = await entry.next()
        assert part is not None
        assert part[0].text == "One."
        with pytest.raises(Refusal):
            await entry.next()
        assert desk.recited == ["One."]


async def test_not_more_than_a_few_sentences_wait_for_their_delivery(at_desk: Any) -> None:
    async with at_desk() as (lineup, desk):
        entry = lineup.enter(context())
        sentences = tuple(Sentence(f"Number {number}.") for number in range(100))
        entry.add(sentences, is_all=True)
        await settle()
        waiting = len(desk.recited)
        assert 4 < waiting < 20
        assert await entry.next() is not None
        await settle()
        assert len(desk.recited) == waiting + 1
        assert len(await following(entry)) == 99


@pytest.mark.parametrize("heard", [0, 1, 2])
async def test_a_stopped_turn_lets_go_of_the_engine_and_of_those_behind(at_desk: Any, heard: int) -> None:
    async with at_desk() as (lineup, desk):
        entry, behind = lineup.enter(context()), lineup.enter(request("Behind."))
        entry.add((Sentence("One."), Sentence("Two."), Sentence("Three.")), is_all=False)
        behind.add((Sentence("Behind."),), is_all=True)
        await settle()
        for _ in range(heard):
            await entry.next()
        entry.stop()
        entry.add((Sentence("Four."),), is_all=True)
        assert await entry.next() is None
        assert await following(behind) == ["Behind."]
        assert desk.recited == ["One.", "Two.", "Three.", "Behind."]
        assert desk.synthesis.jobs == max(0, heard - 1), "whoever took a part and left it ends it by itself"


async def test_a_turn_that_is_stopped_before_its_time_comes_is_skipped(at_desk: Any) -> None:
    async with at_desk() as (lineup, desk):
        first, second, third = lineup.enter(context()), lineup.enter(request("Two.")), lineup.enter(request("Three."))
        for entry, text in ((second, "Two."), (third, "Three.")):
            entry.add((Sentence(text),), is_all=True)
        second.stop()
        first.add((Sentence("One."),), is_all=True)
        assert [await following(entry) for entry in (first, second, third)] == [["One."], [], ["Three."]]
        assert desk.recited == ["One.", "Three."]
