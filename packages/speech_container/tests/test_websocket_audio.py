"""The audio of a session's answers: frames, headers and encoders. Numbers in brackets are the behaviour cases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from speech_container.engine import Utterance, Waveform
from speech_container.tone_engine import ToneEngine
from speech_protocol import Audio, classify


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
