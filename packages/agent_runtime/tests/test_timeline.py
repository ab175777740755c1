import pytest
from agent_runtime.events import SentenceTimes
from agent_runtime.timeline import Timeline


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_sentence_was_written_when_its_last_character_came() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    for delta in ("One.", " Two", ". Three."):
        clock.now_s += 0.5
        timeline.wrote(delta)
    assert [timeline.add(sentence) for sentence in ("One.", "Two.", "Three.")] == [0, 1, 2]
    assert [times.written_ms for times in timeline.sentences] == [500.0, 1500.0, 1500.0]
    assert timeline.text == "One. Two. Three."


def test_equal_sentences_are_told_apart_by_their_order() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    for _ in range(2):
        clock.now_s += 1
        timeline.wrote("No. ")
    timeline.add("No.")
    timeline.add("No.")
    assert [times.written_ms for times in timeline.sentences] == [1000.0, 2000.0]


def test_each_moment_is_kept_once() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    timeline.wrote("One.")
    place = timeline.add("One.")
    for moment in (timeline.sent, timeline.sent, timeline.heard, timeline.heard):
        clock.now_s += 0.001
        moment(place)
    clock.now_s += 0.001
    timeline.done(place, 0.25)
    assert timeline.sentences == (SentenceTimes("One.", 0.0, 1.0, 3.0, 5.0, 0.25),)
    assert (timeline.first_text_ms, timeline.first_audio_ms) == (0.0, 3.0)


def test_what_is_heard_was_sent() -> None:
    timeline = Timeline(Clock())
    timeline.wrote("One.")
    timeline.heard(timeline.add("One."))
    assert timeline.sentences[0].sent_ms == 0.0


def test_nothing_has_no_times() -> None:
    timeline = Timeline(Clock())
    assert (timeline.first_text_ms, timeline.first_audio_ms, timeline.sentences) == (None, None, ())


def test_text_that_was_not_written_is_refused() -> None:
    timeline = Timeline(Clock())
    timeline.wrote("One. Two.")
    timeline.add("Two.")
    with pytest.raises(ValueError, match="no slice"):
        timeline.add("One.")


def test_a_sentence_knows_where_it_stands_in_the_text() -> None:
    timeline = Timeline(Clock())
    timeline.wrote("No. No.  Yes.")
    places = [timeline.add(sentence) for sentence in ("No.", "No.", "Yes.")]
    assert [(timeline.start_char(place), timeline.end_char(place)) for place in places] == [(0, 3), (4, 7), (9, 13)]
    assert [timeline.start_char(2, part) for part in ("Yes.", "s.", "no slice")] == [9, 11, 9]
