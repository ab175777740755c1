"""The routes that are not speech."""

import json
import threading
from typing import Any


async def test_ping_is_healthy_once_a_sentence_was_spoken(start: Any) -> None:
    running = await start()
    reply = await running.http("GET", "/ping")
    assert (reply.status, json.loads(reply.body)) == (200, {"status": "ready"})


async def test_ping_is_answered_while_the_engine_is_busy(start: Any) -> None:  # behaviour 13
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="Hello.")
        await running.engine.busy()
        assert (await running.http("GET", "/ping")).status == 200
        running.engine.release()
        await socket.answer()


async def test_ping_is_503_until_every_check_has_passed(start: Any, tone_studio: Any) -> None:
    passed = threading.Event()
    running = await start(studio=tone_studio(checks=(passed.wait,)), until_ready=False)
    assert (await running.http("GET", "/ping")).status == 503
    refused = await running.invoke(text="Hi.")
    async with running.session() as socket:
        told = (await socket.ask(text="Hi.")).end
    passed.set()
    while (await running.http("GET", "/ping")).status == 503:
        pass
    assert (refused.status, refused.error["code"], told["code"]) == (503, "busy", "busy")
    assert (await running.invoke(text="Hi.")).status == 200


async def test_voices_are_listed(start: Any) -> None:
    running = await start()
    voices = json.loads((await running.http("GET", "/v1/audio/voices")).body)["voices"]
    assert "af_heart" in voices


async def test_other_methods_and_paths_are_refused(start: Any) -> None:
    running = await start()
    assert (await running.http("GET", "/invocations")).status == 405
    assert (await running.http("GET", "/nothing")).status == 404
