"""Case 12: SIGTERM while many are being spoken to."""

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from tests.behaviour.served import Answer, Listener, Served, served

REAL_VOICE = pytest.param("onnx", 1, marks=[pytest.mark.load, pytest.mark.weights])
SENTENCES = "Hello there. This goes on for a while. It has three sentences."
SHORTER = "Hello there. And hello again."


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "listeners"), [("tone", 8), REAL_VOICE])  # as many as can be served in 25 s
async def test_sigterm_under_load_lets_what_runs_finish_and_takes_nothing_new(
    engine: str, listeners: int, tmp_path: Path
) -> None:
    # Audio is made half a second ahead of real time, so that the answers are under way for as long as they last.
    async with served(tmp_path / "log", engine, look_ahead_s=0.5) as server:
        running = [asyncio.Event() for _ in range(listeners + 1)]
        answers = [asyncio.create_task(one_of_a_pair(server, begun)) for begun in running[:-1]]
        answers.append(asyncio.create_task(over_http(server, running[-1])))
        async with server.session() as idle:
            await asyncio.gather(*(begun.wait() for begun in running))
            server.process.send_signal(signal.SIGTERM)
            while await server.ping() == 200:  # until the signal has reached the process
                pass
            refused = [(await idle.ask(text="Late.", request_id="late")).end]
            async with server.session() as newcomer:
                refused.append((await newcomer.ask(text="Late.", request_id="late")).end)
            reply = await server.http.post("/invocations", json={"text": "Late.", "request_id": "late"})
            assert not any(task.done() for task in answers), "all of this happened while they were being spoken to"
            finished = await asyncio.gather(*answers)
            assert await asyncio.wait_for(server.process.wait(), 30) == 0
    assert [(event["code"], event["request_id"]) for event in refused] == [("shutting_down", "late")] * 2
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "shutting_down")
    assert all(finished)
    assert server.faults() == []


async def one_of_a_pair(server: Served, begun: asyncio.Event) -> bool:
    """A session with one request in hand and one behind it: both are answered whole."""
    async with server.session() as listener:
        for name in ("in hand", "behind"):
            await listener.send(text=SHORTER, request_id=name)
        first = len(await listener.first_audio())
        begun.set()
        return whole(await listener.answer(), first) and whole(await behind(listener), 0)


async def behind(listener: Listener) -> Answer:
    answer = await listener.answer()
    assert answer.end["request_id"] == "behind"
    return answer


def whole(answer: Answer, before: int) -> bool:
    """Whether an answer, of which `before` bytes were taken already, has come to its proper end."""
    end = answer.end
    return bool(end["type"] == "synthesis_complete" and end["audio_bytes"] == before + len(answer.audio) > 0)


async def over_http(server: Served, begun: asyncio.Event) -> bool:
    """A streamed answer, which httpx raises about unless it has its proper end."""
    async with server.http.stream("POST", "/invocations", json={"text": SENTENCES, "format": "mp3"}) as reply:
        size = 0
        async for chunk in reply.aiter_raw():
            size += len(chunk)
            begun.set()
        return reply.status_code == httpx.codes.OK and size > 0
