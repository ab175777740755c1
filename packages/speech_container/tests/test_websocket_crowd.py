"""Many sessions at one engine, some slow, greedy or dropped. Numbers in brackets are the behaviour cases."""

import asyncio
import gc
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from speech_container.pcm import pcm16
from speech_container.service import Service
from speech_container.tone_engine import ToneEngine
from speech_protocol import Synthesize, VoiceOptions


async def test_a_dropped_socket_frees_its_slot_every_time(start: Any) -> None:  # [9]
    running = await start(max_waiting_segments=4)
    service: Service = running.service
    held: list[tuple[int, int]] = []
    for number in range(1000):
        running.engine.hold()
        running.engine.forget()
        async with running.session() as socket:
            await socket.send(text="One. Two. Three. Four. Five.")
            await running.engine.busy()
        async with running.session() as other:  # answered only after the server has seen the first one go
            while service.running:
                await other.ask(type="ping")
            running.engine.release()
            assert (await other.ask(text="Me.")).end["type"] == "synthesis_complete"
        assert len(running.engine.batches) == 2, "the line in hand, and the one of the next session"
        if number % 300 == 99:
            while service.telemetry.sessions:
                await running.http("GET", "/ping")
            held.append((what_is_open(), what_is_kept()))
    assert (service.jobs, service.waiting_segments) == (0, 0)
    opened = [count for count, _ in held]
    assert max(opened) - opened[0] < 10, "files, sockets and tasks; one or two may be on their way out"
    assert max(kept for _, kept in held[1:]) - held[0][1] < 300, "objects, over 900 sockets that dropped"


def what_is_open() -> int:
    """The files, sockets and tasks of this process."""
    return len(list(Path("/proc/self/fd").iterdir())) + len(asyncio.all_tasks())


def what_is_kept() -> int:
    """The objects that the collector knows and cannot free."""
    gc.collect()
    return len(gc.get_objects())


async def test_sessions_hear_their_own_text_in_their_own_voice(start: Any, tone_studio: Any) -> None:  # [11]
    studio = tone_studio(ToneEngine(max_batch=8))
    running = await start(studio=studio)
    names = running.service.capabilities().voices
    voices = [*names, *(f"{one}+{other}(2)" for one, other in itertools.pairwise(names))][:64]
    together = asyncio.Barrier(64)

    async def speak(number: int) -> Any:
        async with running.session() as socket:
            await together.wait()
            return await socket.ask(text=f"I am number {number}.", voice=voices[number])

    answers = await asyncio.gather(*(speak(number) for number in range(64)))
    for number, answer in enumerate(answers):
        request = Synthesize(f"I am number {number}.", VoiceOptions(voice=voices[number]))
        lines = studio.narrator.script(request).lines
        expected = ToneEngine().synthesize([line.utterance for line in lines])
        assert answer.audio == pcm16(np.concatenate([waveform.samples for waveform in expected])), request
    assert len({answer.audio for answer in answers}) == 64


async def test_ping_and_hello_are_answered_while_the_engine_is_busy(start: Any) -> None:  # [13]
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="Hello.")
        await running.engine.busy()
        assert [frame["type"] for frame in (await socket.ask(type="ping")).events] == ["synthesis_start", "pong"]
        capabilities = (await socket.ask(type="hello")).end
        running.engine.release()
        assert (await socket.answer()).end["type"] == "synthesis_complete"
    assert capabilities["engine"] == "tone"
    assert capabilities["formats"] == ["pcm", "wav", "mp3", "opus", "aac"]
    assert capabilities["sample_rates"] == [8000, 16000, 22050, 24000, 48000]
    assert capabilities["timestamps"] is True
    assert capabilities["limits"]["max_text_contexts"] == 8


async def test_a_session_that_waits_for_too_much_is_told_busy(start: Any) -> None:
    running = await start(max_waiting_requests=2)
    async with running.session() as socket:
        running.engine.hold()
        for name in ("first", "second", "third"):
            await socket.send(text="Hello.", request_id=name)
        refused = await socket.answer()
        running.engine.release()
        ends = [(await socket.answer()).end for _ in range(2)]
    assert refused.end["code"] == "busy"
    assert refused.end["request_id"] == "third"
    assert refused.end["retryable"]
    assert refused.end["retry_after_s"] > 0
    assert [end["request_id"] for end in ends] == ["first", "second"]


async def test_a_full_engine_queue_is_told_busy(start: Any) -> None:
    running = await start(max_waiting_segments=2)
    async with running.session() as hog, running.session() as late:
        running.engine.hold()
        await hog.send(text="One. Two. Three.")
        await running.engine.busy()
        refused = (await late.ask(text="Me.")).end
        running.engine.release()
        assert (await hog.answer()).end["type"] == "synthesis_complete"
        assert (await late.ask(text="Me.")).end["type"] == "synthesis_complete"
    assert refused["code"] == "busy"
    assert refused["retry_after_s"] > 0


async def test_a_slow_reader_delays_nobody_and_is_not_served_ahead_for_ever(start: Any) -> None:  # [8]
    running = await start(look_ahead_s=1.0)
    text = " ".join(f"This is sentence {number} of a long text." for number in range(200))
    async with running.session(max_queue=1) as slow, running.session() as quick:
        await slow.send(text=text)
        assert isinstance(await slow.frame(), dict)
        made_for_slow = [-1, 0]
        while made_for_slow[-1] != made_for_slow[-2]:  # the slow one gets a turn for each of the quick one's, if it may
            assert (await quick.ask(text="Quick.")).end["type"] == "synthesis_complete"
            made_for_slow.append(len(running.engine.batches) - len(made_for_slow) + 1)
        await slow.send(type="cancel")
        stopped = await slow.answer()
    assert 0 < made_for_slow[-1] < 200
    assert stopped.end["type"] == "synthesis_cancelled"


async def test_slow_readers_of_long_texts_leave_the_queue_to_others(start: Any) -> None:  # [8]
    running = await start(look_ahead_s=1.0, max_waiting_segments=20)
    text = " ".join(f"This is sentence {number} of a long text." for number in range(100))
    async with running.session(max_queue=1) as one, running.session(max_queue=1) as two, running.session() as quick:
        for slow in (one, two):
            await slow.send(text=text)
            assert isinstance(await slow.frame(), dict)
        assert (await quick.ask(text="Quick.")).end["type"] == "synthesis_complete"
        for slow in (one, two):
            await slow.send(type="cancel")
            assert (await slow.answer()).end["type"] == "synthesis_cancelled"


async def test_a_peer_that_never_reads_is_dropped(start: Any) -> None:  # [8]
    running = await start(send_timeout_s=0.1, look_ahead_s=100)
    text = " ".join(f"This is sentence {number} of a long text." for number in range(230))
    async with running.session(max_queue=1) as stuck, running.session() as other:
        for _ in range(20):
            await stuck.send(text=text)
        while running.service.running == 0:
            await other.ask(type="ping")
        while running.service.running:
            await other.ask(type="ping")
        assert (await other.ask(text="Me.")).end["type"] == "synthesis_complete"
        stuck.socket.transport.abort()
