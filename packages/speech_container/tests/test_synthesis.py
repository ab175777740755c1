"""The engine's thread and its recitations."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from speech_container.engine import Engine, Utterance, Waveform
from speech_container.errors import EngineUnavailable, Refusal
from speech_container.playback import Playback
from speech_container.synthesis import Synthesis
from speech_container.tone_engine import ToneEngine
from speech_protocol import Synthesize


def make(engine: Engine, **limits: Any) -> Synthesis:
    return Synthesis(engine, **{"max_waiting_segments": 100, "look_ahead_s": 100.0, **limits})


@pytest.fixture
def script(tone_studio: Any) -> Any:
    """Makes scripts."""
    narrator = tone_studio().narrator
    return lambda text: narrator.script(Synthesize(text))


async def test_lines_arrive_in_order_with_their_text(script: Any, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    text = "One is here. Two. Three."
    with synthesis.recite(1, script(text)) as recitation:
        spoken = [line async for line in recitation]
    assert [text[line.line.segment.start_char : line.line.segment.end_char] for line in spoken] == [
        "One is here.",
        "Two.",
        "Three.",
    ]
    assert [line.index for line in spoken] == [0, 1, 2]
    assert recitation.queue_s is not None
    assert synthesis.jobs == 0
    await synthesis.stop()
    assert held_engine.closed


async def test_what_a_listener_hears_is_kept(script: Any, held_engine: Any) -> None:
    heard: list[tuple[float, float, float]] = []

    class Recorder(Playback):
        def arrived(self, at_s: float, audio_s: float, waited_s: float) -> None:
            heard.append((at_s, audio_s, waited_s))

    synthesis = make(held_engine)
    await synthesis.start()
    began_s = time.monotonic()
    with synthesis.recite(1, script("One. Two.")) as recitation:
        recitation.playback = Recorder()
        spoken = [line async for line in recitation]
    assert [audio_s for _, audio_s, _ in heard] == [line.waveform.duration_s for line in spoken]
    assert all(began_s <= at_s - waited_s <= at_s <= time.monotonic() for at_s, _, waited_s in heard)
    await synthesis.stop()


async def test_listeners_share_batches(script: Any, held_engine: Any) -> None:
    held_engine.max_batch = 4
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    recitations = [synthesis.recite(listener, script("One. Two.")) for listener in range(3)]
    await held_engine.busy()
    held_engine.release()
    assert [len([line async for line in recitation]) for recitation in recitations] == [2, 2, 2]
    assert max(len(batch) for batch in held_engine.batches) >= 2
    await synthesis.stop()


async def test_one_bad_line_fails_its_own_request_only(script: Any, held_engine: Any) -> None:
    held_engine.max_batch = 2
    held_engine.broken_tokens = {1 + ord("z")}
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    first = synthesis.recite(1, script("First."))
    await held_engine.busy()
    bad, good = synthesis.recite(2, script("Fizz.")), synthesis.recite(3, script("Fine."))
    held_engine.release()
    assert len([line async for line in first]) == 1
    assert len([line async for line in good]) == 1
    with pytest.raises(Refusal) as refusal:
        await anext(bad)
    assert refusal.value.code == "synthesis_failed"
    assert any(len(batch) == 2 for batch in held_engine.batches)
    await synthesis.stop()


async def test_a_cancelled_recitation_ends_and_costs_no_further_step(script: Any, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    recitation = synthesis.recite(1, script("One. Two. Three."))
    waiting = asyncio.create_task(anext(recitation, None))
    await held_engine.busy()
    recitation.cancel()
    assert await waiting is None
    held_engine.release()
    await synthesis.stop()
    assert len(held_engine.batches) == 1
    assert synthesis.jobs == 0


async def test_stopping_does_not_wait_for_a_long_step(script: Any, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    synthesis.recite(1, script("One."))
    await held_engine.busy()
    await synthesis.stop()
    assert synthesis.is_working
    held_engine.release()
    await synthesis.stop()
    assert not synthesis.is_working


async def test_a_full_queue_is_busy(script: Any, held_engine: Any) -> None:
    synthesis = make(held_engine, max_waiting_segments=1)
    await synthesis.start()
    held_engine.hold()
    with synthesis.recite(1, script("One. Two.")), pytest.raises(Refusal) as refusal:
        synthesis.recite(2, script("Me."))
    assert refusal.value.code == "busy"
    assert refusal.value.retry_after_s
    held_engine.release()
    await synthesis.stop()


async def test_whoever_would_wait_for_too_long_is_told_busy_and_until_when(script: Any, held_engine: Any) -> None:
    now_s = [100.0]
    synthesis = make(held_engine, max_wait_s=2.5, clock=lambda: now_s[0])
    await synthesis.start()
    held_engine.hold()
    first = synthesis.recite(1, script("One."))
    await held_engine.busy()
    now_s[0] += 1.0
    held_engine.release()
    await anext(first)  # it took a second, and so will the next ones
    held_engine.hold()
    synthesis.recite(2, script("One."))
    await held_engine.busy()
    for listener in (3, 4):
        synthesis.recite(listener, script("One."))
    with pytest.raises(Refusal) as refusal:
        synthesis.recite(5, script("One."))
    assert refusal.value.code == "busy"
    assert refusal.value.retry_after_s == pytest.approx(0.5)
    held_engine.release()
    await synthesis.stop()


async def test_an_engine_that_does_not_load_says_why() -> None:
    class Broken(ToneEngine):
        def load(self) -> None:
            raise EngineUnavailable("there is no model")

    synthesis = make(Broken())
    with pytest.raises(EngineUnavailable, match="no model"):
        await synthesis.start()
    await synthesis.stop()


class Second(ToneEngine):
    """Every line is a second long."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = 0

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        self.lines += len(batch)
        (waveform,) = super().synthesize([Utterance((3,) * 36, batch[0].style)])
        return [Waveform(waveform.samples[:24_000], None)]


async def test_audio_is_made_ahead_of_what_was_sent_only_as_far_as_allowed(script: Any) -> None:
    engine = Second()
    synthesis = make(engine, look_ahead_s=2.0)
    await synthesis.start()
    recitation = synthesis.recite(1, script("A. B. C. D. E."), paced=False)
    for _ in range(2):
        await anext(recitation)
    with synthesis.recite(2, script("Z.")) as other:
        await anext(other)
    assert engine.lines == 3
    recitation.delivered(1.0)
    await anext(recitation)
    recitation.delivered(5.0)
    assert len([line async for line in recitation]) == 2
    await synthesis.stop()


async def test_audio_is_made_ahead_of_real_time_only_as_far_as_allowed(script: Any) -> None:
    engine, now_s = Second(), [100.0]
    synthesis = make(engine, look_ahead_s=2.0, clock=lambda: now_s[0])
    await synthesis.start()
    recitation = synthesis.recite(1, script("A. B. C. D. E."))

    async def others(count: int) -> None:
        """Somebody else gets a line, so that the engine's thread has looked at what may run."""
        for _ in range(count):
            with synthesis.recite(2, script("Z.")) as other:
                await anext(other)

    for _ in range(3):
        await anext(recitation)
        recitation.delivered(1.0)
    await others(2)
    assert engine.lines == 3 + 2
    now_s[0] += 1.0
    await others(1)
    await anext(recitation)
    recitation.delivered(1.0)
    await others(2)
    assert engine.lines == 4 + 5
    await synthesis.stop()


async def test_a_disconnected_listener_costs_no_further_step(script: Any, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    gone = [synthesis.recite(1, script("One. Two.")) for _ in range(2)]
    kept = synthesis.recite(2, script("Three."))
    waiting = [asyncio.create_task(anext(recitation, None)) for recitation in gone]
    await held_engine.busy()
    synthesis.disconnect(1)
    assert await asyncio.gather(*waiting) == [None, None]
    held_engine.release()
    assert len([line async for line in kept]) == 1
    assert len(held_engine.batches) == 2
    await synthesis.stop()


async def test_whoever_interrupts_is_heard_next(script: Any, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    first = synthesis.recite(1, script("A long sentence that is still being heard."))
    await held_engine.busy()
    held_engine.release()
    first.delivered((await anext(first)).waveform.duration_s)
    held_engine.hold()
    synthesis.recite(2, script("Hold on."))
    await held_engine.busy()
    synthesis.interrupt(1)
    again, other = synthesis.recite(1, script("Zzz.")), synthesis.recite(3, script("Q."))
    held_engine.release()
    await asyncio.gather(anext(again), anext(other))
    assert [len(batch[0].token_ids) for batch in held_engine.batches[2:]] == [4, 2]
    await synthesis.stop()


async def test_a_listener_that_is_alone_gets_several_lines_in_a_step(script: Any, held_engine: Any) -> None:
    held_engine.max_batch = 4
    synthesis = make(held_engine, look_ahead_s=1000)
    await synthesis.start()
    held_engine.hold()
    recitation = synthesis.recite(1, script("One is here. Two. Three. Four. Five."))
    await held_engine.busy()
    held_engine.release()
    assert [line.index async for line in recitation] == [0, 1, 2, 3, 4]
    assert [len(batch) for batch in held_engine.batches] == [1, 4]
    await synthesis.stop()


async def test_a_line_that_fails_in_a_step_with_its_next_ones_ends_the_request(script: Any, held_engine: Any) -> None:
    held_engine.max_batch = 4
    held_engine.broken_tokens = {1 + ord("z")}
    synthesis = make(held_engine, look_ahead_s=1000)
    await synthesis.start()
    with synthesis.recite(1, script("One is here. Two. Fizz. Four.")) as recitation:
        assert (await anext(recitation)).index == 0
        assert (await anext(recitation)).index == 1
        with pytest.raises(Refusal):
            await anext(recitation)
    assert synthesis.jobs == 0
    await synthesis.stop()
