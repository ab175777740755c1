"""Audio inside a sentence, from the engine to the client, at the speed of tones."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from speech_container.chunk_plan import chunk_frames
from speech_container.delivery import Delivery
from speech_container.engine import FRAME_SAMPLES, Utterance, Waveform
from speech_container.errors import Refusal
from speech_container.playback import Playback
from speech_container.service import Service
from speech_container.settings import Settings
from speech_container.studio import Studio
from speech_container.synthesis import Spoken, Synthesis
from speech_container.tone_engine import ToneEngine
from speech_protocol import SseDecoder, Synthesize, VoiceOptions

LONG = "This sentence is so long that nobody who listens would like to wait until the whole of it has been made."
SHORT = "One is here."
TEXT = f"{SHORT} {LONG} And this is what comes after it, which is a sentence of some length as well."
LOW = VoiceOptions(latency="low")
CHUNKS_OF_LONG = 4
Scripts = Callable[..., Any]


@pytest.fixture
def script(tone_studio: Callable[..., Studio]) -> Scripts:
    """Makes scripts: of which text, how spoken."""
    narrator = tone_studio().narrator
    return lambda text, options=LOW: narrator.script(Synthesize(text, options))


def make(engine: ToneEngine, **limits: Any) -> Synthesis:
    return Synthesis(engine, **{"max_waiting_segments": 100, "look_ahead_s": 100.0, **limits})


# The engine


def test_chunks_are_the_whole_in_pieces(script: Scripts) -> None:
    (line,) = script(LONG).lines
    (whole,) = ToneEngine().synthesize([replace(line.utterance, latency="exact")])
    pieces: list[Waveform] = []
    utterance: Utterance | None = line.utterance
    while utterance is not None:
        (piece,) = ToneEngine().synthesize([utterance])
        pieces.append(piece)
        utterance = piece.rest
    assert whole.rest is None
    assert whole.frames is not None
    assert tuple(len(piece.samples) // FRAME_SAMPLES for piece in pieces) == chunk_frames(int(whole.frames.sum()))
    np.testing.assert_array_equal(np.concatenate([piece.samples for piece in pieces]), whole.samples)
    for piece, later in pairwise(pieces):
        assert piece.to_come_s == (later.duration_s, *later.to_come_s)
        assert piece.frames is not None
        np.testing.assert_array_equal(piece.frames, whole.frames)  # words have their times before they have been made


def test_a_short_sentence_comes_whole(script: Scripts) -> None:
    (line,) = script(SHORT).lines
    (waveform,) = ToneEngine().synthesize([line.utterance])
    assert (waveform.rest, waveform.to_come_s) == (None, ())


# The engine's thread


async def test_a_line_comes_in_chunks_and_the_lines_in_order(script: Scripts, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    with synthesis.recite(1, script(TEXT)) as recitation:
        spoken = [piece async for piece in recitation]
    parts = [(1, part) for part in range(CHUNKS_OF_LONG)]
    assert [(piece.index, piece.part) for piece in spoken if piece.index < 2] == [(0, 0), *parts]
    assert [piece.is_last for piece in spoken if piece.index == 1] == [False, False, False, True]
    assert len(held_engine.batches) == len(spoken)
    assert synthesis.jobs == 0
    await synthesis.stop()


async def test_an_engine_that_makes_whole_sentences_only_is_asked_for_them(script: Scripts, held_engine: Any) -> None:
    class Whole(ToneEngine):
        latencies = ("exact",)

        def synthesize(self, batch: Any) -> list[Waveform]:
            return super().synthesize([replace(utterance, latency="exact") for utterance in batch])

    synthesis = make(Whole(max_batch=4), look_ahead_s=1000.0)
    await synthesis.start()
    with synthesis.recite(1, script(TEXT)) as recitation:
        assert [(piece.index, piece.part) async for piece in recitation] == [(0, 0), (1, 0), (2, 0)]
    await synthesis.stop()


async def test_another_listener_is_heard_before_a_long_sentence_is_made(script: Scripts, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    long = synthesis.recite(1, script(LONG))
    await held_engine.busy()
    other = synthesis.recite(2, script("Zzz.", VoiceOptions()))
    held_engine.release()
    await anext(other)
    assert [len(batch[0].token_ids) for batch in held_engine.batches[:2]] == [len(LONG), len("Zzz.")]
    assert len([piece async for piece in long]) == CHUNKS_OF_LONG
    await synthesis.stop()


async def test_a_cancel_takes_effect_before_the_next_chunk(script: Scripts, held_engine: Any) -> None:
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    recitation = synthesis.recite(1, script(LONG))
    await held_engine.busy()
    recitation.cancel()
    held_engine.release()
    await synthesis.stop()
    assert len(held_engine.batches) == 1
    assert synthesis.jobs == 0


async def test_a_chunk_on_which_the_engine_fails_ends_the_request(script: Scripts) -> None:
    class Failing(ToneEngine):
        def synthesize(self, batch: Any) -> list[Waveform]:
            if batch[0].progress is not None:
                raise ValueError("these words must stay in here")
            return super().synthesize(batch)

    synthesis = make(Failing())
    await synthesis.start()
    with synthesis.recite(1, script(LONG)) as recitation:
        assert (await anext(recitation)).part == 0
        with pytest.raises(Refusal, match="failed on this text"):
            await anext(recitation)
    assert synthesis.jobs == 0
    await synthesis.stop()


async def test_listeners_chunks_share_steps(script: Scripts, held_engine: Any) -> None:
    held_engine.max_batch = 4
    synthesis = make(held_engine)
    await synthesis.start()
    held_engine.hold()
    first = synthesis.recite(1, script(SHORT))
    await held_engine.busy()
    others = [synthesis.recite(listener, script(LONG)) for listener in (2, 3)]
    held_engine.release()
    await anext(first)
    assert [len([piece async for piece in other]) for other in others] == [CHUNKS_OF_LONG] * 2
    assert [len(batch) for batch in held_engine.batches] == [1, *(2 for _ in range(CHUNKS_OF_LONG))]
    await synthesis.stop()


async def test_what_a_listener_hears_is_kept_chunk_by_chunk(script: Scripts, held_engine: Any) -> None:
    heard_s: list[float] = []

    class Recorder(Playback):
        def arrived(self, at_s: float, audio_s: float, waited_s: float) -> None:
            heard_s.append(audio_s)

    synthesis = make(held_engine)
    await synthesis.start()
    with synthesis.recite(1, script(LONG)) as recitation:
        recitation.playback = Recorder()
        spoken = [piece async for piece in recitation]
    assert heard_s == [piece.waveform.duration_s for piece in spoken]
    assert len(heard_s) == CHUNKS_OF_LONG
    await synthesis.stop()


# What is delivered


def spoken_in_chunks(script: Scripts, text: str) -> list[Spoken]:
    spoken = []
    for index, line in enumerate(script(text).lines):
        utterance, part = line.utterance, 0
        while utterance is not None:
            (waveform,) = ToneEngine().synthesize([utterance])
            spoken.append(Spoken(index, line, waveform, part))
            utterance, part = waveform.rest, part + 1
    return spoken


def test_word_times_come_once_a_line_and_are_those_of_the_whole(script: Scripts) -> None:
    options = VoiceOptions(timestamps=True)
    whole, chunked = (Delivery("r", options, arrived_s=0.0) for _ in range(2))
    exact = script(TEXT, VoiceOptions()).lines
    waveforms = ToneEngine().synthesize([line.utterance for line in exact])
    expected = [whole.begin(Spoken(index, exact[index], each)) for index, each in enumerate(waveforms)]
    found = [chunked.begin(spoken) for spoken in spoken_in_chunks(script, TEXT)]
    assert [times for times in found if times is not None] == expected
    assert found[2] is None, "a chunk that goes on"


def test_a_cut_in_mid_sentence_tells_the_words_that_were_sent(script: Scripts) -> None:
    delivery = Delivery("r", VoiceOptions(timestamps=True), arrived_s=0.0)
    first, second, *_ = spoken_in_chunks(script, LONG)
    times = delivery.begin(first)
    assert times is not None
    share = 0.9  # no word ends in the first half of the first chunk
    for chunk in (first, second):
        if chunk.part:
            delivery.begin(chunk)
        delivery.sent(share)
        sent_s = (first.waveform.duration_s if chunk.part else 0.0) + chunk.waveform.duration_s * share
        heard = [word for word in times.words if word.end_s <= sent_s]
        end = delivery.transcript(LONG).cancelled()
        assert end.audio_s == pytest.approx(sent_s)
        assert end.text_spoken == LONG[: heard[-1].end_char]
        assert end.text_spoken + end.text_remaining == LONG


def test_a_line_without_words_counts_as_heard_at_its_end(script: Scripts) -> None:
    delivery = Delivery("r", VoiceOptions(), arrived_s=0.0)
    chunks = spoken_in_chunks(script, LONG)
    for each in chunks:
        wordless = replace(each.line, segment=replace(each.line.segment, words=()))
        delivery.begin(replace(each, line=wordless))
        delivery.sent(0.99)
        assert delivery.transcript(LONG).cancelled().text_spoken == ""
    delivery.sent(1.0)
    assert delivery.transcript(LONG).cancelled().text_spoken == LONG


# From the client


async def test_low_latency_sounds_the_same_and_begins_sooner(start: Any) -> None:
    running = await start(look_ahead_s=100.0)
    async with running.session() as socket:
        exact = await socket.ask(text=TEXT, timestamps=True)
        running.engine.forget()
        low = await socket.ask(text=TEXT, timestamps=True, latency="low")
    assert low.audio == exact.audio
    assert len(running.engine.batches) > 3
    assert words_of(low) == words_of(exact)
    assert low.end["total_duration_s"] == exact.end["total_duration_s"]


def words_of(answer: Any) -> list[dict[str, Any]]:
    return [word for event in answer.events if event["type"] == "timestamps" for word in event["words"]]


async def test_the_first_audio_is_there_before_the_sentence_is_made(start: Any) -> None:
    running = await start(look_ahead_s=0.1)
    async with running.session() as socket:
        await socket.send(text=LONG, latency="low", timestamps=True)
        events = [await socket.frame() for _ in range(3)]
        running.engine.hold()
        await socket.send(type="cancel", played_s=0.5)
        cancelled = await socket.answer()
        running.engine.release()
    kinds = ["audio" if isinstance(event, bytes) else event["type"] for event in events]
    assert kinds == ["synthesis_start", "timestamps", "audio"]
    assert [word["word"] for word in events[1]["words"]] == LONG.split()
    heard = [word for word in events[1]["words"] if word["end_s"] <= 0.5]
    assert cancelled.end["text_spoken"] == LONG[: heard[-1]["end_char"]]
    assert cancelled.end["text_spoken"] + cancelled.end["text_remaining"] == LONG
    assert cancelled.end["audio_s"] < 3.0


@pytest.mark.parametrize("audio_format", ["wav", "mp3", "opus", "aac"])
async def test_every_format_encodes_what_comes(start: Any, decode: Any, audio_format: str) -> None:
    running = await start(look_ahead_s=100.0)
    async with running.session() as socket:
        exact = await socket.ask(text=TEXT, format=audio_format, sample_rate=16000)
        low = await socket.ask(text=TEXT, format=audio_format, sample_rate=16000, latency="low")
    assert low.end["total_duration_s"] == exact.end["total_duration_s"]
    ours, theirs = decode(low.audio).samples, decode(exact.audio).samples
    np.testing.assert_allclose(ours, theirs, atol=2 / 32768)


async def test_a_context_is_spoken_in_chunks_too(start: Any) -> None:
    running = await start(look_ahead_s=100.0)
    async with running.session() as socket:
        exact = await socket.ask(text=TEXT)
        running.engine.forget()
        low = await socket.ask(type="text", context_id="c", delta=TEXT, flush=True, latency="low")
    assert low.audio == exact.audio
    assert len(running.engine.batches) > 3


async def test_over_http_what_is_streamed_comes_in_chunks_and_a_file_whole(start: Any) -> None:
    running = await start(look_ahead_s=100.0)
    whole = await running.invoke(text=LONG, format="pcm", latency="low", stream=False)
    assert len(running.engine.batches) == 1
    running.engine.forget()
    streamed = await running.invoke(text=LONG, format="pcm", latency="low")
    assert len(running.engine.batches) == CHUNKS_OF_LONG
    assert streamed.body == whole.body
    events = SseDecoder().feed((await running.invoke(text=LONG, transport="sse", latency="low", timestamps=True)).body)
    assert [event["type"] for event in events].count("timestamps") == 1


async def test_the_openai_face_takes_it_as_a_field_of_ours(start: Any) -> None:
    running = await start(look_ahead_s=100.0)
    body = b'{"model": "m", "voice": "alloy", "input": "%s", "response_format": "pcm", "latency": "low"}'
    reply = await running.http("POST", "/v1/audio/speech", body % LONG.encode())
    assert reply.status == 200
    assert len(running.engine.batches) == CHUNKS_OF_LONG


async def test_the_servers_own_latency_is_for_whoever_does_not_say(start: Any) -> None:
    running = await start(look_ahead_s=100.0, latency="low")
    async with running.session() as socket:
        for fields, steps in (({}, CHUNKS_OF_LONG), ({"latency": "exact"}, 1), ({"latency": "low"}, CHUNKS_OF_LONG)):
            running.engine.forget()
            await socket.ask(text=LONG, **fields)
            assert len(running.engine.batches) == steps
        assert (await socket.ask(type="hello")).end["latency"] == ["exact", "low"]


async def test_a_server_whose_engine_cannot_says_so_and_speaks(tone_studio: Any) -> None:
    class Whole(ToneEngine):
        latencies = ("exact",)

    service = Service(Settings(engine="tone", latency="low"), lambda _: tone_studio(Whole()))
    assert service.capabilities().latency == ("exact",), "it is still loading"
    await service.load()
    assert service.capabilities().latency == ("exact",)
    await service.stop()
