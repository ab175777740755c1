"""One answer as it takes shape."""

from itertools import pairwise
from typing import Any

import pytest
from speech_container.delivery import Delivery
from speech_container.synthesis import Spoken
from speech_container.tone_engine import ToneEngine
from speech_protocol import Synthesize, VoiceOptions

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


def test_the_end_adds_up(lines: list[Spoken]) -> None:
    clock = Clock()
    delivery = Delivery("r", VoiceOptions(), arrived_s=99.0, clock=clock)
    assert (delivery.start().request_id, delivery.start().voice) == ("r", "af_heart")
    audio = b""
    for line in lines:
        clock.now_s += 1
        delivery.begin(line)
        audio += delivery.feed(line)
    audio += delivery.flush()
    end = delivery.complete(queue_s=0.25)
    assert end.audio_bytes == len(audio)
    assert end.total_duration_s == pytest.approx(len(audio) / 48_000)
    assert (end.first_audio_s, end.elapsed_s, end.queue_s) == (2.0, 3.0, 0.25)


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
