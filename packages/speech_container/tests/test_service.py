"""Admission, readiness, and the real voice from text to samples."""

import asyncio
import time
from typing import Any

import pytest
from speech_container.engine import FRAME_SAMPLES, SAMPLE_RATE_HZ
from speech_container.errors import EngineFailed, Refusal
from speech_container.service import Service, State
from speech_container.settings import Settings
from speech_container.tone_engine import ToneEngine
from speech_protocol import Synthesize, VoiceOptions

AWS_CHECK = {
    "Hello there.": 1.525,
    "This is a post deployment check.": 2.250,
    "It has three sentences.": 2.050,
}


async def test_a_service_is_ready_only_after_a_sentence_was_spoken(tone_studio: Any, held_engine: Any) -> None:
    service = Service(Settings(engine="tone"), lambda _: tone_studio(held_engine))
    held_engine.hold()
    loading = asyncio.create_task(service.load())
    await held_engine.busy()
    with pytest.raises(Refusal, match="loading"):
        service.require_open()
    held_engine.release()
    await loading
    service.require_open()
    assert service.state is State.READY
    await service.stop()


async def test_a_mute_engine_never_gets_ready(tone_studio: Any, held_engine: Any) -> None:
    held_engine.broken_tokens = set(range(178))
    service = Service(Settings(engine="tone"), lambda _: tone_studio(held_engine))
    with pytest.raises(EngineFailed, match="warm-up"):
        await service.load()
    assert service.state is State.FAILED
    with pytest.raises(Refusal) as refusal:
        service.require_open()
    assert refusal.value.code == "shutting_down"
    await service.stop()


async def test_draining_stays_draining_when_loading_ends(tone_studio: Any) -> None:
    service = Service(Settings(engine="tone"), lambda _: tone_studio())
    loading = asyncio.create_task(service.load())
    service.drain()
    await loading
    assert service.state is State.DRAINING
    await service.stop()


async def test_requests_that_come_within_the_window_share_a_step(tone_studio: Any, held_engine: Any) -> None:
    held_engine.max_batch = 2
    now_s, passes_s = [0.0], [0.001]

    def clock() -> float:
        now_s[0] += passes_s[0]
        return now_s[0]

    service = Service(Settings(engine="tone"), lambda _: tone_studio(held_engine), clock=clock)
    await service.load()
    held_engine.forget()
    passes_s[0] = 0.0  # from here on everything comes at once
    recitations = [await service.recite(service.new_listener(), Synthesize("Hello.")) for _ in range(2)]
    for recitation in recitations:
        with recitation:
            await anext(recitation)
    assert [len(batch) for batch in held_engine.batches] == [2]
    await service.stop()


async def test_a_text_that_breaks_the_front_end_fails_alone(tone_studio: Any) -> None:
    studio = tone_studio()
    service = Service(Settings(engine="tone"), lambda _: studio)
    await service.load()

    def broken(_: Synthesize) -> None:
        raise ZeroDivisionError("somebody's words")

    script, studio.narrator.script = studio.narrator.script, broken
    with pytest.raises(Refusal) as refusal:
        await service.recite(1, Synthesize("Hi."))
    assert refusal.value.code == "synthesis_failed"
    assert "words" not in refusal.value.message
    studio.narrator.script = script
    with await service.recite(1, Synthesize("Hi.")) as recitation:
        assert len([line async for line in recitation]) == 1
    await service.stop()


async def test_a_fresh_request_is_taken_and_a_stale_one_is_not(tone_studio: Any) -> None:
    service = Service(Settings(engine="tone"), lambda _: tone_studio(ToneEngine()))
    await service.load()
    now_s = time.time()
    with await service.recite(1, Synthesize("Hi.", request_timestamp=now_s)):
        pass
    with pytest.raises(Refusal) as refusal:
        await service.recite(1, Synthesize("Hi.", request_timestamp=now_s - 61))
    assert refusal.value.code == "request_stale"
    await service.stop()


@pytest.mark.weights
@pytest.mark.slow
async def test_the_three_sentences_take_as_long_as_on_aws() -> None:  # behaviour 15
    service = Service(Settings())
    await service.load()
    listener = service.new_listener()
    for text, expected_s in AWS_CHECK.items():
        with await service.recite(listener, Synthesize(text)) as recitation:
            samples = sum([len(line.waveform.samples) async for line in recitation])
        assert abs(samples / SAMPLE_RATE_HZ - expected_s) <= 4 * FRAME_SAMPLES / SAMPLE_RATE_HZ, text
    with pytest.raises(Refusal) as refusal:
        await service.recite(listener, Synthesize("Guten Tag.", VoiceOptions(language="de")))
    assert refusal.value.code == "language_unsupported"
    await service.stop()
