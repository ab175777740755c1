"""Text as it is written, through real sockets. Numbers in brackets are the behaviour cases."""

import asyncio
from typing import Any

import pytest
from speech_container.session import MAX_TEXT_CONTEXTS

from packages.speech_container.tests.conftest import TEXT, kinds, words_of


async def write(client: Any, text: str, context_id: str = "c", size: int = 3, **fields: Any) -> None:
    """A context's text in small deltas; `fields` with the first."""
    for start in range(0, len(text), size):
        await client.send(type="text", context_id=context_id, delta=text[start : start + size], **fields)
        fields = {}


@pytest.mark.parametrize(("audio_format", "sample_rate"), [("pcm", 24_000), ("wav", 8_000), ("mp3", 16_000)])
async def test_a_context_sounds_like_the_request_of_the_same_text(
    start: Any, audio_format: str, sample_rate: int
) -> None:
    running = await start()
    options: dict[str, Any] = {"voice": "bf_emma", "speed": 1.5, "timestamps": True}
    options |= {"format": audio_format, "sample_rate": sample_rate}
    async with running.session() as socket:
        whole = await socket.ask(text=TEXT, request_id="c", **options)
        await write(socket, TEXT, **options)
        await socket.send(type="text", context_id="c", flush=True)
        streamed = await socket.answer()
    assert streamed.audio == whole.audio
    assert words_of(streamed) == words_of(whole)
    assert streamed.events[0] == whole.events[0]
    assert {event["request_id"] for event in streamed.events} == {"c"}
    assert kinds(streamed) == ["synthesis_start", *["timestamps", "audio"] * 3, "synthesis_complete"]
    for field in ("audio_bytes", "total_duration_s"):
        assert streamed.end[field] == whole.end[field]


async def test_a_sentence_is_heard_while_the_next_is_written(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="One is here. Two")
        assert (await socket.frame())["type"] == "synthesis_start"
        assert isinstance(await socket.frame(), bytes)
        await socket.send(type="text", context_id="c", delta=" is here.", flush=True)
        rest = await socket.answer()
    assert kinds(rest) == ["audio", "synthesis_complete"]
    assert [len(batch[0].token_ids) for batch in running.engine.batches] == [12, 12]


async def test_a_cut_is_heard_before_anything_follows_it(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="It is 5 p.m.", cut=True)
        assert (await socket.frame())["type"] == "synthesis_start"
        assert isinstance(await socket.frame(), bytes)
        await socket.send(type="text", context_id="c", flush=True)
        assert kinds(await socket.answer())[-1] == "synthesis_complete"


async def test_contexts_and_requests_take_turns_in_the_order_they_came(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        for name in ("a", "b"):
            await socket.send(type="text", context_id=name)
        await socket.send(text="A request.", request_id="r")
        for _ in range(3):
            await write(socket, "I am b. And still. ", "b")
            await write(socket, "I am a. And still. ", "a")
        for name in ("b", "a"):
            await socket.send(type="text", context_id=name, flush=True)
        answers = [await socket.answer() for _ in range(3)]
    assert [answer.end["request_id"] for answer in answers] == ["a", "b", "r"]
    for answer in answers:
        assert kinds(answer) == ["synthesis_start", "audio", "synthesis_complete"]
        assert {event["request_id"] for event in answer.events} == {answer.end["request_id"]}


async def test_a_slow_context_holds_its_place_and_holds_up_nobody_else(start: Any) -> None:
    running = await start(look_ahead_s=0.5)
    async with running.session() as slow, running.session() as quick:
        await slow.send(type="text", context_id="slow", delta="One is here. And")
        assert (await slow.frame())["type"] == "synthesis_start"
        assert isinstance(await slow.frame(), bytes)
        await slow.send(text=TEXT * 5, request_id="behind")
        assert (await quick.ask(text="Quick.")).end["type"] == "synthesis_complete"
        assert (await slow.ask(type="ping")).end["type"] == "pong"
        made = len(running.engine.batches)
        await slow.send(type="text", context_id="slow", delta=" two.", flush=True)
        assert kinds(await slow.answer()) == ["audio", "synthesis_complete"]
        assert (await slow.frame())["request_id"] == "behind"
    assert made == 2, "what is behind the slow context uses up none of its look-ahead"


@pytest.mark.parametrize("delta", ["", "  ", "?! 😀"], ids=["nothing", "spaces", "signs"])
async def test_a_context_with_nothing_to_say_is_a_clear_error(start: Any, delta: str) -> None:  # [10]
    running = await start()
    async with running.session() as socket:
        answer = await socket.ask(type="text", context_id="c", delta=delta, flush=True)
        assert (await socket.ask(text="Good.")).end["type"] == "synthesis_complete"
    assert answer.frames == [answer.end]
    assert (answer.end["code"], answer.end["request_id"]) == ("text_empty", "c")


async def test_a_context_that_grows_too_long_speaks_what_it_may(start: Any) -> None:
    running = await start(max_text_chars=20)
    async with running.session() as socket:
        await write(socket, "One is here. Two is here. Three", size=6, timestamps=True)
        answer = await socket.answer()
        assert (await socket.ask(text="Good.")).end["type"] == "synthesis_complete"
    assert "".join(word["word"] for word in words_of(answer)) == "Oneishere.Twois"[: len("Oneishere.Two")] + "i"
    assert (answer.end["code"], answer.end["request_id"]) == ("text_too_long", "c")


async def test_a_context_that_falls_silent_is_spoken_and_ended(start: Any) -> None:
    running = await start(context_idle_s=0.2)
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="One is here. And", timestamps=True)
        answer = await socket.answer()
        assert (await socket.ask(text="Good.")).end["type"] == "synthesis_complete"
    assert [word["word"] for word in words_of(answer)] == ["One", "is", "here.", "And"]
    assert (answer.end["code"], answer.end["request_id"]) == ("request_stale", "c")
    assert running.service.running == 0


async def test_more_contexts_than_a_session_may_have_are_busy(start: Any) -> None:
    running = await start()
    names = [f"c-{number}" for number in range(MAX_TEXT_CONTEXTS)]
    async with running.session() as socket:
        for name in names:
            await socket.send(type="text", context_id=name, delta="One.")
        refused = (await socket.ask(type="text", context_id="b", delta="Two. ")).end
        await socket.send(type="text", context_id="b", delta="Three.", flush=True)
        await socket.send(type="text", context_id=names[0], flush=True)
        assert (await socket.answer()).end["request_id"] == names[0]
        await socket.send(type="text", context_id="b", delta="Now.", flush=True)
        for name in names[1:]:
            await socket.send(type="text", context_id=name, flush=True)
        assert [(await socket.answer()).end["request_id"] for _ in names] == [*names[1:], "b"]
    assert (refused["code"], refused["request_id"], refused["retryable"]) == ("busy", "b", True)


async def test_an_engine_failure_ends_a_context_once(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="Fine. Fizz. And")
        failed = await socket.answer()
        await socket.send(type="text", context_id="c", delta=" so on. And on.")
        await socket.send(type="text", context_id="c", flush=True)
        assert (await socket.ask(text="Good.", request_id="r")).end["request_id"] == "r"
    assert kinds(failed) == ["synthesis_start", "audio", "error"]
    assert (failed.end["code"], failed.end["request_id"]) == ("synthesis_failed", "c")


async def test_a_full_engine_makes_a_running_context_wait_and_not_fail(start: Any) -> None:
    running = await start(max_waiting_segments=1)
    async with running.session() as one, running.session() as hog:
        await one.send(type="text", context_id="c", delta="One is here. And")
        assert (await one.frame())["type"] == "synthesis_start"
        assert isinstance(await one.frame(), bytes)
        running.engine.forget()
        running.engine.hold()
        await hog.send(text="I fill it. All of it.")
        await running.engine.busy()
        await one.send(type="text", context_id="c", delta=" two.", flush=True)
        assert (await one.ask(type="ping")).end["type"] == "pong"
        running.engine.release()
        assert kinds(await one.answer()) == ["audio", "synthesis_complete"]
        assert (await hog.answer()).end["type"] == "synthesis_complete"


async def test_close_ends_the_context_in_hand_and_speaks_it(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        await socket.send(type="text", context_id="a", delta="One is here", timestamps=True)
        await socket.send(type="text", context_id="b", delta="Never. Heard")
        await socket.send(type="close")
        spoken, unspoken, closed = [await socket.answer() for _ in range(3)]
        assert await socket.closed() == 1000
    assert [word["word"] for word in words_of(spoken)] == ["One", "is", "here"]
    assert spoken.end["type"] == "synthesis_complete"
    assert (unspoken.end["text_spoken"], unspoken.end["text_remaining"]) == ("", "Never. Heard")
    assert closed.end == {"type": "session_closed"}


async def test_a_server_that_has_to_go_tells_contexts_that_wait_for_text(start: Any) -> None:
    running = await start()
    running.server.drain_s = 0
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="One is here. And")
        assert (await socket.frame())["type"] == "synthesis_start"
        assert isinstance(await socket.frame(), bytes)
        running.server.drain()
        answer = await socket.answer()
    assert (answer.end["code"], answer.end["request_id"]) == ("shutting_down", "c")
    await asyncio.wait_for(running.task, 20)


async def test_a_dropped_socket_ends_its_contexts(start: Any) -> None:  # [9]
    running = await start()
    async with running.session() as socket:
        for name in "abc":
            await socket.send(type="text", context_id=name, delta="One is here. And")
        assert (await socket.frame())["type"] == "synthesis_start"
        assert running.service.running == 3
    async with running.session() as other:
        while running.service.running:
            await other.ask(type="ping")
        assert running.service.jobs == 0
