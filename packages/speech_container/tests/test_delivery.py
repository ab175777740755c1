"""One answer as it takes shape."""

from typing import Any

import pytest
from speech_container.delivery import Delivery, cancelled
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
    delivery = Delivery("r", TEXT, VoiceOptions(), arrived_s=99.0, clock=clock)
    assert (delivery.start().request_id, delivery.start().voice) == ("r", "af_heart")
    audio = b""
    for line in lines:
        clock.now_s += 1
        audio += delivery.feed(line)
        delivery.delivered(line)
    audio += delivery.flush()
    end = delivery.complete(queue_s=0.25)
    assert end.audio_bytes == len(audio)
    assert end.total_duration_s == pytest.approx(len(audio) / 48_000)
    assert (end.first_audio_s, end.elapsed_s, end.queue_s) == (2.0, 3.0, 0.25)


def test_a_cancelled_answer_cuts_the_text_where_the_next_line_begins(lines: list[Spoken]) -> None:
    delivery = Delivery("r", TEXT, VoiceOptions(), arrived_s=0.0)
    delivery.feed(lines[0])
    delivery.delivered(lines[0])
    delivery.feed(lines[1])
    end = delivery.cancelled()
    assert (end.text_spoken, end.text_remaining) == ("  One is here.", " Two is here. ")
    assert end.audio_s == pytest.approx(lines[0].waveform.duration_s)


def test_nothing_was_spoken_of_a_request_that_never_began() -> None:
    end = cancelled("r", TEXT)
    assert (end.text_spoken, end.text_remaining, end.audio_s) == ("", TEXT, 0.0)
