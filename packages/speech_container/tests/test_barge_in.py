"""Cancels while an answer is made, sent or heard, through real sockets. Numbers in brackets are the behaviour cases."""

from typing import Any

import pytest

from packages.speech_container.tests.conftest import TEXT, kinds, words_of


async def read_until(client: Any, count: int) -> list[Any]:
    """The first `count` frames."""
    return [await client.frame() for _ in range(count)]


async def test_a_cancel_while_audio_flows_is_exact_to_the_word_that_was_played(start: Any) -> None:  # [6]
    running = await start(look_ahead_s=0.1)
    async with running.session() as socket:
        text = TEXT * 5
        await socket.send(text=text, request_id="r", timestamps=True)
        _, times, _ = await read_until(socket, 3)
        await running.engine.busy()
        running.engine.hold()
        await running.engine.busy()
        heard_s = times["words"][1]["end_s"] + 0.01
        await socket.send(type="cancel", request_id="r", played_s=heard_s)
        stopped = await socket.answer()
        running.engine.release()
        assert (await socket.ask(text="Good.")).end["type"] == "synthesis_complete"
    assert stopped.end["type"] == "synthesis_cancelled"
    assert (stopped.end["text_spoken"], stopped.end["text_remaining"]) == ("Pay €45", text[len("Pay €45") :])
    assert stopped.end["audio_s"] > heard_s


async def test_a_cancel_without_a_report_goes_by_what_was_sent(start: Any) -> None:  # [6]
    running = await start(look_ahead_s=0.1)
    text = TEXT * 5
    async with running.session() as socket:
        await socket.send(text=text, request_id="r", timestamps=True)
        begun = await read_until(socket, 3)
        await running.engine.busy()
        running.engine.hold()
        await running.engine.busy()
        await socket.send(type="cancel")
        stopped = await socket.answer()
        running.engine.release()
    frames = [*begun, *stopped.frames]
    sent_s = sum(len(frame) for frame in frames if isinstance(frame, bytes)) / 48_000
    times = [word for frame in frames if isinstance(frame, dict) for word in frame.get("words", [])]
    last = max((word for word in times if word["end_s"] <= sent_s), key=lambda word: word["end_s"])
    assert stopped.end["audio_s"] == pytest.approx(sent_s, abs=1e-5)
    assert stopped.end["text_spoken"] == text[: last["end_char"]]
    assert stopped.end["text_spoken"] + stopped.end["text_remaining"] == text


async def test_a_cancel_while_queued_has_spoken_nothing(start: Any) -> None:  # [6]
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text=TEXT, request_id="first")
        await socket.send(text=TEXT, request_id="queued")
        await running.engine.busy()
        await socket.send(type="cancel", request_id="queued", played_s=3.0)
        assert (await socket.ask(type="ping")).end["type"] == "pong"
        running.engine.release()
        first, queued = [await socket.answer() for _ in range(2)]
    assert first.end["type"] == "synthesis_complete"
    assert queued.frames == [queued.end]
    assert (queued.end["text_spoken"], queued.end["text_remaining"]) == ("", TEXT)


async def test_a_cancel_after_completion_still_tells_what_was_heard(start: Any) -> None:  # [6]
    running = await start()
    async with running.session() as socket:
        for name in ("one", "two"):
            whole = await socket.ask(text=TEXT, request_id=name, timestamps=True)
        by_end = {round(word["end_s"], 6): word for word in words_of(whole)}
        for end_s, word in sorted(by_end.items()):
            await socket.send(type="cancel", request_id="two", played_s=end_s)
            told = (await socket.answer()).end
            assert told["text_spoken"].endswith(word["word"])
            assert told["text_spoken"] + told["text_remaining"] == TEXT
            assert (await socket.ask(text=TEXT, request_id="two")).end["type"] == "synthesis_complete"
        await socket.send(type="cancel", request_id="two")
        await socket.send(type="cancel", request_id="nobody", played_s=1.0)
        assert (await socket.ask(type="ping")).end["type"] == "pong"


async def test_a_cancelled_context_tells_all_of_the_text_that_came(start: Any) -> None:  # [6]
    running = await start()
    async with running.session() as socket:
        await socket.send(type="text", context_id="c", delta="One is here. And two", timestamps=True)
        _, times, _ = await read_until(socket, 3)
        await socket.send(type="cancel", context_id="c", played_s=times["words"][0]["end_s"])
        stopped = await socket.answer()
        await socket.send(type="text", context_id="c", delta=" is here. And three.", flush=True)
        late = await socket.answer()
        assert (await socket.ask(text="Good.")).end["type"] == "synthesis_complete"
    assert set(kinds(stopped)[:-1]) <= {"audio"}
    assert (stopped.end["text_spoken"], stopped.end["text_remaining"]) == ("One", " is here. And two")
    assert (late.end["code"], late.end["request_id"]) == ("cancelled", "c")


BARGE_INS: list[dict[str, Any]] = [
    {"request_id": "r"},
    {"request_id": "r", "played_s": 0.1},
    {},
    {"context_id": "c"},
]


@pytest.mark.parametrize("named", BARGE_INS, ids=["request", "with report", "all", "open context"])
async def test_whoever_stops_listening_to_what_was_sent_is_served_next(start: Any, named: dict[str, Any]) -> None:
    running = await start()
    async with running.session() as one, running.session() as hog, running.session() as other:
        if "context_id" in named:
            await one.send(type="text", context_id="c", delta=f"{TEXT} And")
            while running.service.jobs or len(running.engine.batches) < 3:
                await other.ask(type="ping")
        else:
            await one.ask(text=TEXT, request_id="r")
        running.engine.forget()
        running.engine.hold()
        await hog.send(text="Hold on.")
        await running.engine.busy()
        await one.send(type="cancel", **named)
        for client, text in ((one, "Zzz."), (other, "Q.")):
            jobs = running.service.jobs
            await client.send(text=text)
            while running.service.jobs == jobs:
                await other.ask(type="ping")
        running.engine.release()
        for _ in range(2):
            await running.engine.busy()
    assert [len(batch[0].token_ids) for batch in running.engine.batches] == [len("Hold on."), len("Zzz."), len("Q.")]


async def test_nothing_of_the_old_answer_is_in_the_new_one(start: Any) -> None:  # [7]
    running = await start()
    async with running.session() as socket:
        alone = await socket.ask(text="Something else.", request_id="new")
        for round_ in range(20):
            if round_ % 2:
                await socket.send(text=TEXT * 20, request_id=f"old {round_}")
            else:
                await socket.send(type="text", context_id=f"old {round_}", delta=TEXT * 20)
            await read_until(socket, 2 + round_ % 5)
            await socket.send(type="cancel")
            await socket.send(text="Something else.", request_id="new")
            stopped, new = [await socket.answer() for _ in range(2)]
            assert stopped.end["request_id"] == f"old {round_}"
            assert new.end["request_id"] == "new"
            assert new.audio == alone.audio
            assert kinds(new) == ["synthesis_start", "audio", "synthesis_complete"]
