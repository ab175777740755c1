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


async def test_metrics_are_served_in_every_state(start: Any, tone_studio: Any) -> None:
    passed = threading.Event()
    running = await start(studio=tone_studio(checks=(passed.wait,)), until_ready=False)
    reply = await running.http("GET", "/metrics")
    passed.set()
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain")
    assert b"speech_waiting_segments 0.0" in reply.body


async def test_metrics_are_answered_while_the_engine_is_busy(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="One. Two. Three.")
        await running.engine.busy()
        assert b"speech_waiting_segments 2.0" in (await running.http("GET", "/metrics")).body
        running.engine.release()
        await socket.answer()


async def test_a_session_too_many_is_told_so_and_closed(start: Any) -> None:
    running = await start(max_sessions=2)
    async with running.session() as first, running.session() as second:
        assert (await second.ask(text="Hi.")).end["type"] == "synthesis_complete"
        async with running.session() as third:
            told = await third.frame()
            assert await third.closed() == 1013
        refused = await running.invoke(text="Hi.")
        assert (await first.ask(text="Hi.")).end["type"] == "synthesis_complete"
    assert isinstance(told, dict)
    assert (told["type"], told["code"], told["request_id"], told["retryable"]) == ("error", "busy", None, True)
    assert told["retry_after_s"] > 0
    assert (refused.status, refused.error["code"]) == (503, "busy")
    while running.service.telemetry.sessions:
        await running.http("GET", "/ping")
    assert (await running.invoke(text="Hi.")).status == 200


async def test_a_session_that_floods_is_slowed_down_and_others_are_not(start: Any) -> None:
    running = await start(max_requests_per_minute=2)
    async with running.session() as flood, running.session() as other:
        ends = [(await flood.ask(text="Hi.", request_id=str(number))).end for number in range(3)]
        pong = (await flood.ask(type="ping")).end
        served = (await other.ask(text="Hi.")).end
    assert [end["type"] for end in ends] == ["synthesis_complete", "synthesis_complete", "error"]
    assert (ends[2]["code"], ends[2]["request_id"], ends[2]["retryable"]) == ("rate_limited", "2", True)
    assert 0 < ends[2]["retry_after_s"] <= 30
    assert (pong["type"], served["type"]) == ("pong", "synthesis_complete")


async def test_nothing_new_is_taken_when_memory_is_full(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        running.service.memory.allowed_bytes = 1024
        refused = await running.invoke(text="Hi.")
        told = (await socket.ask(text="Hi.")).end
        assert (await running.http("GET", "/ping")).status == 200
        running.service.memory.allowed_bytes = None
        served = (await socket.ask(text="Hi.")).end
    assert (refused.status, refused.error["code"], told["code"]) == (503, "busy", "busy")
    assert served["type"] == "synthesis_complete"


async def test_other_methods_and_paths_are_refused(start: Any) -> None:
    running = await start()
    assert (await running.http("GET", "/invocations")).status == 405
    assert (await running.http("GET", "/nothing")).status == 404
