"""The server that ours is measured against, and the listeners: the comparison is about the lock alone."""

import asyncio
from typing import Any

from speech_container.service import Service
from starlette.types import ASGIApp

from benchmarks.rig.listener import listen
from benchmarks.rig.one_lock_server import OneLock


class Locks:
    """Puts servers behind a lock, and shows the lock."""

    def __init__(self) -> None:
        self.lock: OneLock | None = None

    def __call__(self, app: ASGIApp, service: Service) -> OneLock:
        self.lock = OneLock(app, service)
        return self.lock

    async def has(self, messages: int) -> None:
        """Until so many messages have the lock or wait for it."""
        async with asyncio.timeout(20):
            while self.lock is None or self.lock.messages < messages:  # noqa: ASYNC110 - nobody tells a test of it
                await asyncio.sleep(0)


async def test_a_message_waits_until_the_one_before_was_sent_to_its_end(start: Any) -> None:
    locks = Locks()
    running = await start(around=locks)
    async with running.session() as first, running.session() as second:
        running.engine.hold()
        await first.send(text="One one. Two two. Three three.")
        await running.engine.busy()
        await second.send(text="Four.")
        await locks.has(2)
        running.engine.release()
        answers = await asyncio.gather(first.answer(), second.answer())
    assert [answer.end["type"] for answer in answers] == ["synthesis_complete"] * 2
    assert [len(utterance.token_ids) for (utterance,) in running.engine.batches] == [
        len(sentence) for sentence in ("One one.", "Two two.", "Three three.", "Four.")
    ]
    assert answers[1].end["queue_s"] > 0


async def test_it_says_what_our_server_says(start: Any) -> None:
    ours, lock = await start(), await start(around=Locks())
    request = {"text": "Hello there. How are you?", "request_id": "r", "timestamps": True, "format": "mp3"}
    async with ours.session() as one, lock.session() as other:
        expected, answer = await one.ask(**request), await other.ask(**request)
    assert [event["type"] for event in answer.events] == [event["type"] for event in expected.events]
    assert answer.audio == expected.audio


async def test_a_bad_message_costs_one_error_and_frees_the_lock(start: Any) -> None:
    locks = Locks()
    running = await start(around=locks)
    async with running.session() as socket:
        refused = [await socket.ask(text="Hi.", voice="nobody"), await socket.ask(text=7), await socket.ask(type="x")]
        good = await socket.ask(text="Good.")
        assert (await socket.ask(type="close")).end["type"] == "session_closed"
    assert [answer.end["code"] for answer in refused] == ["voice_unknown", "invalid_message", "unknown_type"]
    assert good.end["type"] == "synthesis_complete"
    assert locks.lock is not None
    assert locks.lock.messages == 0


async def test_a_dropped_connection_frees_the_lock(start: Any) -> None:
    locks = Locks()
    running = await start(around=locks)
    async with running.session() as leaving, running.session() as staying:
        running.engine.hold()
        await leaving.send(text="One. Two.")
        await running.engine.busy()
        await leaving.socket.close()
        running.engine.release()
        assert (await staying.ask(text="Three.")).end["type"] == "synthesis_complete"


async def test_a_listener_asks_again_when_it_has_heard_everything(start: Any) -> None:
    running = await start()
    began_s = asyncio.get_running_loop().time()
    url = running.url.replace("http", "ws", 1)
    first, second = await listen(7, url, ["Hi.", "Oh."], began_s=began_s, starts_s=0.1)
    assert first.asked_s >= 0.1
    assert second.asked_s >= first.asked_s + first.took_s
    assert (first.listener, first.silence_s, first.refused) == (7, 0, 0)
    assert 0.1 < first.audio_s < 1


async def test_a_listener_that_was_told_to_come_back_counts_its_wait_from_when_it_asked_first(start: Any) -> None:
    running = await start(max_waiting_segments=1)
    running.engine.hold()
    url = running.url.replace("http", "ws", 1)
    began_s = asyncio.get_running_loop().time()
    async with running.session() as socket:
        await socket.send(text="One one. Two two. Three three.")
        await running.engine.busy()
        listening = asyncio.create_task(listen(7, url, ["Hi."], began_s=began_s, starts_s=0))
        async with asyncio.timeout(20):
            while not running.service.telemetry.metrics.render().count(b'code="busy"'):  # noqa: ASYNC110 - no event says it
                await asyncio.sleep(0.01)
        running.engine.release()
        (heard,) = await listening
    assert heard.refused >= 1
    assert heard.first_audio_s > 0.1, "it was told to wait for at least as long"
