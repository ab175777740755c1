"""The session edge, through real sockets. Numbers in brackets are the behaviour cases."""

import asyncio
import gc
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speech_container.engine import Utterance, Waveform
from speech_container.pcm import pcm16
from speech_container.service import Service
from speech_container.tone_engine import ToneEngine
from speech_protocol import Audio, Synthesize, VoiceOptions, classify


async def test_text_and_binary_frames_are_answered_alike(start: Any) -> None:  # [1]
    running = await start()
    message = json.dumps({"type": "synthesize", "text": "Hello there.", "request_id": "r"})
    async with running.session() as socket:
        await socket.send(message)
        as_text = await socket.answer()
        await socket.send(message.encode())
        as_binary = await socket.answer()
    assert [event["type"] for event in as_text.events] == ["synthesis_start", "synthesis_complete"]
    assert as_text.audio
    assert as_text.audio == as_binary.audio
    assert as_text.events[0] == as_binary.events[0]
    assert as_text.end["audio_bytes"] == len(as_text.audio)


BROKEN = [
    ('{"text": "a"', "invalid_json"),
    ("[]", "invalid_message"),
    ('"x"', "invalid_message"),
    ("{}", "invalid_message"),
    ('{"type": "zzz"}', "unknown_type"),
    (b'{"text": "\xff"}', "invalid_json"),
    ("{" * (1 << 20), "invalid_json"),
    ('{"text": "Hi.", "voice": "af_hearth"}', "voice_unknown"),
    ('{"text": "Hi.", "speed": 3}', "speed_out_of_range"),
    ('{"text": "Hi.", "format": "flac"}', "format_unsupported"),
    ('{"text": "Hi.", "sample_rate": 44100}', "sample_rate_unsupported"),
    ('{"text": "Hi.", "language": "tlh"}', "language_unsupported"),
    ('{"text": " \\n"}', "text_empty"),
    ('{"text": "?! ..."}', "text_empty"),
    ('{"type": "text", "delta": "Hi."}', "invalid_message"),
    ('{"type": "text", "context_id": "c", "delta": 7}', "invalid_message"),
    ('{"type": "text", "context_id": "c", "delta": "Hi.", "voice": "nobody"}', "voice_unknown"),
    ('{"type": "text", "context_id": "c", "delta": "Hi.", "language": "tlh"}', "language_unsupported"),
    ('{"type": "text", "context_id": "c", "delta": "?!", "flush": true}', "text_empty"),
    ('{"type": "text", "context_id": "c", "flush": true}', "text_empty"),
]


@pytest.mark.parametrize(("message", "code"), BROKEN, ids=[code + str(i) for i, (_, code) in enumerate(BROKEN)])
async def test_a_bad_message_costs_one_error(start: Any, message: str | bytes, code: str) -> None:  # [2]
    running = await start()
    async with running.session() as socket:
        await socket.send(message)
        refused = await socket.answer()
        good = await socket.ask(text="Good.")
    assert [event["code"] for event in refused.events] == [code]
    assert not refused.audio
    assert good.end["type"] == "synthesis_complete"


async def test_a_text_frame_that_is_not_utf8_fails_its_connection_and_no_other(start: Any) -> None:  # [2]
    running = await start()
    async with running.session() as socket, running.session() as other:
        await socket.socket.send(b'{"text": "\xff"}', text=True)
        assert await socket.closed() == 1007, "RFC 6455, 8.1"
        assert (await other.ask(text="Good.")).end["type"] == "synthesis_complete"


async def test_six_answers_come_in_order_and_never_interleaved(start: Any) -> None:  # [3]
    running = await start()
    texts = [f"Sentence number {number}. And a second one." for number in range(3)]
    async with running.session() as socket:
        apart = [await socket.ask(text=text, request_id=text) for text in texts]
        for text in texts:
            await socket.send(text=text, request_id=text)
        together = [await socket.answer() for _ in texts]
    assert [whole.audio for whole in apart] == [whole.audio for whole in together]
    assert len({whole.audio for whole in apart}) == 3
    for whole, text in zip(apart + together, texts * 2, strict=True):
        kinds = [frame["type"] if isinstance(frame, dict) else "audio" for frame in whole.frames]
        assert [kinds[0], kinds[-1]] == ["synthesis_start", "synthesis_complete"]
        assert set(kinds[1:-1]) == {"audio"}
        assert {event["request_id"] for event in whole.events} == {text}


async def test_a_faulty_message_is_answered_in_its_place(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        for text, speed in (("One.", 1), ("Two.", 9), ("Three.", 1)):
            await socket.send(text=text, speed=speed, request_id=text)
        ends = [(await socket.answer()).end for _ in range(3)]
    assert [(end["request_id"], end["type"]) for end in ends] == [
        ("One.", "synthesis_complete"),
        ("Two.", "error"),
        ("Three.", "synthesis_complete"),
    ]


async def test_cancel_stops_a_running_and_a_queued_request(start: Any) -> None:
    running = await start()
    text = "One is here. Two is here. Three is here."
    async with running.session() as socket:
        running.engine.hold()
        for name in ("running", "queued", "kept"):
            await socket.send(text=text, request_id=name)
        await running.engine.busy()
        for name in ("running", "queued"):
            await socket.send(type="cancel", request_id=name)
        assert (await socket.ask(type="ping", id="p")).frames[-1] == {"type": "pong", "id": "p"}
        running.engine.release()
        stopped = [await socket.answer() for _ in range(2)]
        kept = await socket.answer()
    for whole, name in zip(stopped, ("running", "queued"), strict=True):
        assert whole.end["type"] == "synthesis_cancelled"
        assert whole.end["request_id"] == name
        assert not whole.audio
        assert whole.end["text_spoken"] + whole.end["text_remaining"] == text
    assert kept.end["type"] == "synthesis_complete"
    assert len(running.engine.batches) == 1 + 3, "one line was in hand, and nothing of the cancelled ones came after it"


async def test_cancel_says_what_was_heard(start: Any) -> None:
    running = await start(look_ahead_s=0.1)
    text = "One is here. Two is here. Three is here."
    async with running.session() as socket:
        await socket.send(text=text, request_id="r")
        await running.engine.busy()
        running.engine.hold()
        await running.engine.busy()
        await socket.send(type="cancel")
        whole = await socket.answer()
        running.engine.release()
    spoken = whole.end["text_spoken"]
    assert spoken.startswith("One is here.")
    assert spoken + whole.end["text_remaining"] == text
    assert whole.end["text_remaining"].endswith("Three is here.")
    assert len(whole.audio) == round(whole.end["audio_s"] * 48_000)


async def test_a_cancel_that_comes_too_late_is_no_error(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        await socket.ask(text="Hello.", request_id="r")
        await socket.send(type="cancel", request_id="r")
        assert (await socket.ask(text="Again.")).end["type"] == "synthesis_complete"


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


SPEAKABLE = ["a", "word" * 2500, "x" * 600, "null\0byte", "\u202eright to left\u202c", "😀 and words"]


@pytest.mark.parametrize("text", SPEAKABLE, ids=["letter", "no space", "window", "null", "marks", "emoji"])
async def test_odd_texts_are_spoken_whole(start: Any, text: str) -> None:  # [10]
    running = await start(look_ahead_s=3600)  # nobody listens in real time
    async with running.session() as socket:
        whole = await socket.ask(text=text)
    assert whole.end["type"] == "synthesis_complete"
    spoken = sum(len(utterance.token_ids) for batch in running.engine.batches for utterance in batch)
    assert spoken >= sum(character.isalnum() for character in text)


@pytest.mark.parametrize("text", ["", "   ", "😀", "\u202e"], ids=["empty", "spaces", "emoji", "mark"])
async def test_nothing_to_say_is_a_clear_error(start: Any, text: str) -> None:  # [10]
    running = await start()
    async with running.session() as socket:
        assert (await socket.ask(text=text)).end["code"] == "text_empty"


async def test_a_text_that_is_too_long_is_refused(start: Any) -> None:  # [10]
    running = await start(max_text_chars=100)
    async with running.session() as socket:
        assert (await socket.ask(text="a" * 101)).end["code"] == "text_too_long"
        assert (await socket.ask(text="a" * 100)).end["type"] == "synthesis_complete"


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


async def test_close_finishes_the_answer_in_hand_and_cancels_the_rest(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        running.engine.hold()
        await socket.send(text="In hand. Still.", request_id="in hand")
        await socket.send(text="Behind.", request_id="behind")
        await running.engine.busy()
        await socket.send(type="close")
        await socket.send(text="Too late.")
        async with running.session() as other:
            while running.service.jobs > 1:
                await other.ask(type="ping")
        running.engine.release()
        in_hand, behind, closed = [await socket.answer() for _ in range(3)]
        assert await socket.closed() == 1000
    assert in_hand.end["type"] == "synthesis_complete"
    assert behind.end == {
        "type": "synthesis_cancelled",
        "request_id": "behind",
        "text_spoken": "",
        "text_remaining": "Behind.",
        "audio_s": 0.0,
    }
    assert closed.end == {"type": "session_closed"}


async def test_a_message_past_the_bound_closes_the_socket(start: Any) -> None:
    running = await start(max_message_bytes=1024)
    async with running.session() as socket:
        await socket.send("x" * 2000)
        assert await socket.closed() == 1009


async def test_an_engine_failure_is_an_error_without_its_words(start: Any) -> None:
    running = await start()
    running.engine.broken_tokens = {1 + ord("z")}
    async with running.session() as socket:
        failed = await socket.ask(text="Fizz.", request_id="r")
        assert (await socket.ask(text="Fine.")).end["type"] == "synthesis_complete"
    assert failed.end["code"] == "synthesis_failed"
    assert failed.end["request_id"] == "r"
    assert "words" not in failed.end["message"]


async def test_a_stale_request_is_refused(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        assert (await socket.ask(text="Hi.", request_timestamp=1_000_000_000)).end["code"] == "request_stale"


async def test_wav_over_a_session_has_one_streaming_header(start: Any) -> None:
    running = await start()
    async with running.session() as socket:
        wav = await socket.ask(text="One. Two.", format="wav")
        pcm = await socket.ask(text="One. Two.")
    assert wav.audio[:4] == b"RIFF"
    assert wav.audio[44:] == pcm.audio


@pytest.mark.parametrize("audio_format", ["mp3", "opus", "aac"])
async def test_an_encoded_answer_is_one_stream_of_its_own(start: Any, decode: Any, audio_format: str) -> None:
    running = await start(frame_bytes=1001)
    async with running.session() as socket:
        pcm = await socket.ask(text="One. Two.", sample_rate=22050)
        first = await socket.ask(text="One. Two.", format=audio_format, sample_rate=22050)
        again = await socket.ask(text="One. Two.", format=audio_format, sample_rate=22050)
    frames = [frame for frame in first.frames if isinstance(frame, bytes)]
    assert first.end["audio_bytes"] == len(first.audio) == sum(map(len, frames))
    assert first.end["total_duration_s"] == pytest.approx(len(pcm.audio) / 44_100, abs=1e-3)
    assert max(map(len, frames)) <= 1001
    heard = decode(first.audio)
    assert len(heard.samples) / heard.rate_hz == pytest.approx(first.end["total_duration_s"], abs=0.08)
    assert np.array_equal(decode(again.audio).samples, heard.samples)


async def test_a_cancel_between_two_pieces_ends_an_encoded_answer(start: Any) -> None:
    running = await start(frame_bytes=64)
    async with running.session() as socket:
        await socket.send(text="One is here. " * 50, request_id="r", format="mp3")
        while not isinstance(await socket.frame(), bytes):
            pass
        await socket.send(type="cancel", request_id="r")
        cancelled = (await socket.answer()).end
        after = await socket.ask(text="Hi.", format="mp3")
    assert cancelled["type"] == "synthesis_cancelled"
    assert after.end["type"] == "synthesis_complete"


async def test_pcm_that_spells_json_is_still_audio(start: Any, tone_studio: Any) -> None:  # [4]
    spelled = [b'{"a": 1}', b'{ "x":[]}\n', b'{"b":2} ', b"{1"]

    class Speller(ToneEngine):
        def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
            bytes_of_line = spelled[len(batch[0].token_ids) % 4]
            return [Waveform((np.frombuffer(bytes_of_line, "<i2") / 32767).astype(np.float32), None)]

    running = await start(studio=tone_studio(Speller()), until_ready=False)
    async with running.session() as socket:
        while (await running.http("GET", "/ping")).status != 200:
            pass
        whole = await socket.ask(text="Car. Four. A. Be.")
    frames = [frame for frame in whole.frames if isinstance(frame, bytes)]
    assert all(isinstance(classify(frame), Audio) for frame in frames)
    assert b"".join(frames) == b"".join(spelled)


async def test_frames_respect_the_limit_and_hold_whole_samples(start: Any) -> None:
    running = await start(frame_bytes=1001)
    async with running.session() as socket:
        whole = await socket.ask(text="Hello there.")
    frames = [frame for frame in whole.frames if isinstance(frame, bytes)]
    assert len(frames) > 1
    assert {len(frame) for frame in frames[:-1]} == {1000}
    assert all(len(frame) % 2 == 0 for frame in frames)
