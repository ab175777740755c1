"""One answer as it takes shape."""

import asyncio
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from speech_container.delivery import Delivery
from speech_container.errors import CodecFailed, Refusal
from speech_container.synthesis import Spoken
from speech_container.tone_engine import ToneEngine
from speech_protocol import AudioFormat, Synthesize, VoiceOptions

TEXT = "  One is here. Two is here. "


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def lines(tone_studio: Any) -> list[Spoken]:
    script = tone_studio().narrator.script(Synthesize(TEXT))
    waveforms = ToneEngine().synthesize([line.utterance for line in script.lines])
    return [Spoken(index, line, waveforms[index]) for index, line in enumerate(script.lines)]


async def _encode(delivery: Delivery, line: Spoken) -> bytes:
    return b"".join([await delivery.encode(piece) for piece in delivery.pieces(line)])


async def test_the_end_adds_up(lines: list[Spoken]) -> None:
    clock = Clock()
    delivery = Delivery("r", VoiceOptions(), arrived_s=99.0, clock=clock)
    assert (delivery.start().request_id, delivery.start().voice) == ("r", "af_heart")
    audio = b""
    for line in lines:
        clock.now_s += 1
        delivery.begin(line)
        audio += await _encode(delivery, line)
    audio += await delivery.flush()
    end = delivery.complete(queue_s=0.25)
    assert end.audio_bytes == len(audio)
    assert end.total_duration_s == pytest.approx(len(audio) / 48_000)
    assert (end.first_audio_s, end.elapsed_s, end.queue_s) == (2.0, 3.0, 0.25)


@pytest.mark.parametrize("audio_format", ["mp3", "opus", "aac"])
async def test_encoded_bytes_are_counted_and_the_duration_is_the_audios(
    lines: list[Spoken], audio_format: AudioFormat
) -> None:
    delivery = Delivery("r", VoiceOptions(format=audio_format, sample_rate=16_000), arrived_s=0.0)
    audio = b"".join([await _encode(delivery, line) for line in lines]) + await delivery.flush()
    end = delivery.complete(queue_s=0.0)
    assert end.audio_bytes == len(audio) > 0
    assert end.total_duration_s == pytest.approx(sum(line.waveform.duration_s for line in lines))


async def test_what_takes_long_is_done_in_short_pieces_beside_the_event_loop(lines: list[Spoken]) -> None:
    delivery = Delivery("r", VoiceOptions(format="mp3"), arrived_s=0.0)
    pieces = delivery.pieces(lines[0])
    assert np.array_equal(np.concatenate(pieces), lines[0].waveform.samples)
    assert max(map(len, pieces)) <= 0.32 * 24_000
    task = asyncio.create_task(delivery.encode(pieces[0]))
    await asyncio.sleep(0)  # its first step has run; what another thread does cannot have come back by now
    assert not task.done()
    assert await task


async def test_what_is_quick_needs_no_other_thread(lines: list[Spoken]) -> None:
    delivery = Delivery("r", VoiceOptions(format="pcm"), arrived_s=0.0)
    (piece,) = delivery.pieces(lines[0])
    task = asyncio.create_task(delivery.encode(piece))
    await asyncio.sleep(0)
    assert task.done()
    assert len(await task) == 2 * len(lines[0].waveform.samples)


async def test_a_codec_that_fails_refuses_the_request(lines: list[Spoken]) -> None:
    class Broken(Delivery):
        async def encode(self, piece: NDArray[np.float32]) -> bytes:
            return await self._run(_broken_step)

    def _broken_step() -> bytes:
        raise CodecFailed("somebody's samples")

    delivery = Broken("r", VoiceOptions(format="mp3"), arrived_s=0.0)
    with pytest.raises(Refusal) as refusal:
        await delivery.encode(lines[0].waveform.samples)
    assert refusal.value.code == "synthesis_failed"
    assert "samples" not in refusal.value.message


def test_word_times_are_given_where_they_were_asked_for(lines: list[Spoken]) -> None:
    assert Delivery("r", VoiceOptions(), arrived_s=0.0).begin(lines[0]) is None
    times = Delivery("r", VoiceOptions(timestamps=True), arrived_s=0.0).begin(lines[0])
    assert times is not None
    assert (times.request_id, [word.word for word in times.words]) == ("r", ["One", "is", "here."])


def test_times_and_places_go_on_from_line_to_line(lines: list[Spoken]) -> None:
    delivery = Delivery("r", VoiceOptions(timestamps=True), arrived_s=0.0)
    text = "Before. " + TEXT
    found = [delivery.begin(line, start_char=8) for line in lines]
    words = [word for times in found if times is not None for word in times.words]
    assert [text[word.start_char : word.end_char] for word in words] == [word.word for word in words]
    assert [word.word for word in words] == text.split()[1:]
    assert all(one.end_s <= other.start_s for one, other in pairwise(words))
    assert words[3].start_s > lines[0].waveform.duration_s
    assert words[-1].end_s <= sum(line.waveform.duration_s for line in lines)


def test_a_cut_answer_ends_with_the_last_word_that_was_sent(lines: list[Spoken]) -> None:
    delivery = Delivery("r", VoiceOptions(timestamps=True), arrived_s=0.0)
    delivery.begin(lines[0])
    delivery.sent(1.0)
    times = delivery.begin(lines[1])
    assert times is not None
    first_s, second_s = (line.waveform.duration_s for line in lines)
    for share, spoken in ((0.0, "  One is here."), (1.0, "  One is here. Two is here.")):
        delivery.sent(share)
        assert delivery.transcript(TEXT).cancelled().text_spoken == spoken
    delivery.sent((times.words[0].end_s - first_s) / second_s)
    end = delivery.transcript(TEXT).cancelled()
    assert (end.text_spoken, end.text_remaining) == ("  One is here. Two", " is here. ")
    assert end.audio_s == pytest.approx(times.words[0].end_s)
