"""Cases 8 to 11 and 13 once more with the real voice, which takes its time on a CPU. Numbers are the behaviour cases.

With the instant engine they are shown in packages/speech_container, where the engine can be held back at will.
"""

import asyncio
import itertools
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import pytest_asyncio
from kokoro_weights import prepare
from speech_container.narration import Narrator
from speech_container.onnx_engine import OnnxEngine
from speech_container.pcm import pcm16
from speech_container.voices import VoiceBook
from speech_protocol import Synthesize, VoiceOptions
from speech_text import FrontEnd

from tests.behaviour.served import Served, served
from tests.hearing import heard, samples

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.load,
    pytest.mark.weights,
    pytest.mark.timeout(400),
]

THREADS = 2
DROPS = 12  # 1,000 with the instant engine: each takes this one more than a second
STALLED_S = 30


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kokoro(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """The real voice, and nobody who is told busy."""
    log = tmp_path_factory.mktemp("logs") / "log"
    async with served(log, "onnx", threads=THREADS, max_wait_s=3600, look_ahead_s=3600) as server:
        yield server
    assert server.faults() == []


async def test_a_client_that_stops_reading_delays_nobody_and_is_not_served_ahead_for_ever(tmp_path: Path) -> None:  # 8
    text = " ".join(f"This is sentence number {number} of a long text." for number in range(100))
    async with served(tmp_path / "log", "onnx", threads=THREADS, look_ahead_s=2, send_timeout_s=300) as server:
        unread = {"max_queue": 1, "ping_interval": None, "sock": small(server.url)}  # its pongs go unread too
        async with server.session(**unread) as slow, server.session() as quick:
            await slow.send(text=text, sample_rate=48000, request_id="slow")
            await slow.first_audio()
            before = await quick.ask(text="Quick.")
            resident_bytes = server.resident_bytes
            asked, stalled_until_s = 1, time.monotonic() + STALLED_S
            while time.monotonic() < stalled_until_s:
                assert (await quick.ask(text="Quick.")).audio == before.audio
                asked += 1
            made_for_slow = (await server.metrics())["speech_synthesis_seconds_count"] - asked
            grown_bytes = server.resident_bytes - resident_bytes
            await slow.send(type="cancel", request_id="slow")
            stopped = (await slow.answer()).end
            assert (await slow.ask(text="Quick.")).audio == before.audio
        assert made_for_slow < 10, "of 100 sentences: what its socket holds, and two seconds more"
        assert grown_bytes < 64 * 1024 * 1024
        assert (stopped["type"], stopped["text_spoken"] + stopped["text_remaining"]) == ("synthesis_cancelled", text)
        assert server.faults() == []


def small(url: str) -> socket.socket:
    """A connection of which the client's kernel holds little that was not read."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
    address = urlsplit(url)
    connection.connect((address.hostname, address.port))
    connection.setblocking(False)
    return connection


async def test_a_dropped_socket_stops_the_engine_and_leaves_nothing(kokoro: Served) -> None:  # 9
    steps = (await kokoro.metrics())["speech_synthesis_seconds_count"]
    async with kokoro.session() as other:
        for _ in range(DROPS):
            async with kokoro.session() as listener:
                await listener.send(text="One. Two. Three. Four. Five. Six.")
                await listener.first_audio()
                listener.socket.transport.abort()
            assert (await other.ask(text="Me.")).end["type"] == "synthesis_complete"
            found = await kokoro.metrics()
            assert found["speech_synthesis_seconds_count"] - steps <= 3, "the one that was heard, one more, and mine"
            assert found["speech_waiting_segments"] == 0
            steps = found["speech_synthesis_seconds_count"]
        assert found["speech_sessions"] == 1


WALK = (
    "and then we walked along the river to the old mill where nobody had lived for years and sat down on the wall to "
    "look at the water and the boats and the people on the other side who were walking their dogs in the evening sun "
)
LAST_WORDS = {
    "one letter": ("A", None),
    "null byte": ("This is not the\0end elephant", "elephant"),
    "right to left marks": ("\u202eThe other way round is an elephant\u202c", "elephant"),
    "emoji and words": ("😀 A smile for an elephant 🐘", "elephant"),
    "650 phonemes without punctuation": (f"{WALK * 3}until we met an elephant", "elephant"),
    "250 characters without a space": (f"{WALK.strip()}-until-we-met-an-elephant".replace(" ", "-"), "elephant"),
}


@pytest.mark.parametrize(("text", "last_word"), LAST_WORDS.values(), ids=LAST_WORDS.keys())
async def test_odd_texts_are_spoken_to_their_last_word(kokoro: Served, text: str, last_word: str | None) -> None:  # 10
    async with kokoro.session() as listener:
        answer = await listener.ask(text=text, speed=1.4)
    assert answer.end["type"] == "synthesis_complete"
    assert len(answer.audio) == answer.end["audio_bytes"]
    assert np.abs(samples(answer.audio)).max() > 0.05, "something is said"
    if last_word is not None:
        assert heard(answer.audio[-8 * 48_000 :])[-1] == last_word


@pytest.mark.parametrize("text", ["", "   ", "😀", "\u202e"], ids=["empty", "spaces", "emoji", "mark"])
async def test_nothing_to_say_is_a_clear_error(kokoro: Served, text: str) -> None:  # 10
    async with kokoro.session() as listener:
        assert (await listener.ask(text=text)).end["code"] == "text_empty"


async def test_64_sessions_hear_their_own_text_in_their_own_voice(kokoro: Served) -> None:  # 11
    weights = prepare("packages")
    engine = OnnxEngine(weights.onnx_model or Path(), threads=THREADS)
    narrator = Narrator(FrontEnd(weights.vocabulary), weights.vocabulary, VoiceBook.of_weights(weights))
    names = narrator.voices.names
    voices = [*names, *(f"{one}+{other}(2)" for one, other in itertools.pairwise(names))][:64]
    together = asyncio.Barrier(64)

    async def listen(number: int) -> bytes:
        async with kokoro.session() as listener:
            await together.wait()
            return (await listener.ask(text=f"{number}.", voice=voices[number], language="en-us", speed=2.0)).audio

    answers = await asyncio.gather(*(listen(number) for number in range(64)))
    engine.load()
    for number, audio in enumerate(answers):
        request = Synthesize(f"{number}.", VoiceOptions(voice=voices[number], language="en-us", speed=2.0))
        waveforms = engine.synthesize([line.utterance for line in narrator.script(request).lines])
        assert audio == pcm16(np.concatenate([waveform.samples for waveform in waveforms])), request
    engine.close()
    assert len(set(answers)) == 64


async def test_pings_are_answered_while_the_engine_is_busy_with_one_segment(kokoro: Served) -> None:  # 13
    async with kokoro.session() as listener, kokoro.session() as other:
        steps = (await kokoro.metrics())["speech_synthesis_seconds_count"]
        await listener.send(text=WALK, speed=0.5)  # one segment, and 10 s of work for two cores
        answer = asyncio.create_task(listener.first_audio())
        while (await kokoro.metrics())["speech_waiting_segments"] or (await other.ask(type="hello")).audio:
            pass
        answered = 0
        while not answer.done():
            assert await kokoro.ping() == 200
            assert (await other.ask(type="ping")).end["type"] == "pong"
            answered += 1
        assert (await kokoro.metrics())["speech_synthesis_seconds_count"] == steps + 1
        await listener.send(type="cancel")
        await listener.answer()
    assert answered > 50, "in one step of the engine"
