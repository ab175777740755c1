"""The process: its socket, its signals, its lines on stdout."""

import asyncio
import json
import signal
from typing import Any

import pytest
from kokoro_weights.errors import HashMismatch
from speech_container.errors import PortUnavailable
from speech_container.log import JsonFormatter
from speech_container.server import bind


def test_a_port_in_use_is_one_clear_error() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(PortUnavailable, match="already in use"):
        bind("127.0.0.1", taken.getsockname()[1])


def test_an_address_of_another_machine_is_named_as_such() -> None:
    with pytest.raises(PortUnavailable, match="--host"):
        bind("192.0.2.1", 0)  # RFC 5737: nobody's


async def test_draining_finishes_what_runs_and_refuses_the_rest(start: Any) -> None:  # behaviour 12
    running = await start()
    async with running.session() as socket, running.session() as other:
        running.engine.hold()
        await socket.send(text="One. Two.", request_id="running")
        await running.engine.busy()
        running.server.handle_exit(signal.SIGTERM, None)
        assert (await running.http("GET", "/ping")).status == 503
        assert (await other.ask(text="Late.")).end["code"] == "shutting_down"
        refused = await running.invoke(text="Late.")
        running.engine.release()
        assert (await socket.answer()).end["type"] == "synthesis_complete"
        await asyncio.wait_for(running.task, 20)
    assert (refused.status, refused.error["code"]) == (503, "shutting_down")
    assert running.engine.closed


async def test_draining_does_not_wait_for_ever(start: Any) -> None:
    running = await start()
    running.server.drain_s = 0
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="One. Two. Three.", request_id="long")
        await running.engine.busy()
        running.server.handle_exit(signal.SIGTERM, None)
        told = (await socket.answer()).end
        assert (told["request_id"], told["code"]) == ("long", "shutting_down")
        assert await socket.closed() == 1012
        running.engine.release()
        await asyncio.wait_for(running.task, 20)


async def test_a_second_signal_ends_at_once(start: Any) -> None:
    running = await start()
    running.server.drain_s = 3600
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="One.")
        await running.engine.busy()
        running.server.handle_exit(signal.SIGTERM, None)
        running.server.handle_exit(signal.SIGTERM, None)
        assert await socket.closed() == 1012
        running.engine.release()
        await asyncio.wait_for(running.task, 20)


async def test_a_server_that_cannot_load_ends_with_the_reason(start: Any, tone_studio: Any) -> None:
    def refuse() -> None:
        raise OSError("no such voice")

    running = await start(studio=tone_studio(checks=(refuse,)), until_ready=False)
    await asyncio.wait_for(running.task, 20)
    assert isinstance(running.service.failure, OSError)


async def test_where_it_shall_stay_up_it_is_not_ready_and_says_why_and_refuses_until_it_is_stopped(
    start: Any, tone_studio: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise HashMismatch("voices/af_heart.bin: expected one thing, found another")

    running = await start(studio=tone_studio(checks=(refuse,)), until_ready=False, stay_up=True)
    while json.loads((ping := await running.http("GET", "/ping")).body)["status"] == "loading":
        pass
    refused = await running.invoke(text="Hi.")
    async with running.session() as socket:
        told = (await socket.ask(text="Hi.", request_id="one")).end
    assert not running.task.done()
    assert (ping.status, json.loads(ping.body)) == (503, {"status": "failed", "code": "weights_hash_mismatch"})
    assert (refused.status, refused.error["code"]) == (503, "shutting_down")
    assert (told["code"], told["request_id"]) == ("shutting_down", "one")
    assert "af_heart" not in refused.error["message"] + told["message"]
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert line.getMessage() == "not ready: voices/af_heart.bin: expected one thing, found another"
    assert vars(line)["fields"] == {"code": "weights_hash_mismatch"}
    running.server.handle_exit(signal.SIGTERM, None)
    await asyncio.wait_for(running.task, 20)
    assert isinstance(running.service.failure, HashMismatch)


async def test_what_an_unexpected_error_says_stays_out_of_the_log(
    start: Any, tone_studio: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise KeyError("somebody's secret")

    running = await start(studio=tone_studio(checks=(fail,)), until_ready=False, stay_up=True)
    while json.loads((ping := await running.http("GET", "/ping")).body)["status"] == "loading":
        pass
    assert json.loads(ping.body)["code"] == "load_failed"
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "unexpected KeyError" in line.getMessage()
    assert "secret" not in JsonFormatter().format(line)
