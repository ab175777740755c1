import io
import wave

import pytest
from agent_runtime.answer_audio import AnswerAudio, wav_header
from agent_runtime.events import AudioChunk, AudioStreamEnd, AudioStreamStart, SentenceTimestamps
from agent_runtime.timeline import Timeline
from speech_protocol import AudioFormat, WordTime


def two_sentences(audio_format: AudioFormat = "pcm") -> AnswerAudio:
    return timed(audio_format)[0]


def timed(audio_format: AudioFormat = "pcm") -> tuple[AnswerAudio, Timeline]:
    timeline = Timeline(lambda: 0.0)
    timeline.wrote("One. Two.")
    timeline.add("One.")
    timeline.add("Two.")
    return AnswerAudio(audio_format, timeline), timeline


def test_two_sentences_are_one_stream() -> None:
    audio, timeline = timed()
    assert list(audio.started(24_000)) == [AudioStreamStart("pcm", 24_000)]
    assert list(audio.heard(0, b"abcd")) == [AudioChunk(0, b"abcd")]
    audio.done(0)
    assert list(audio.heard(1, b"ef")) == [AudioChunk(1, b"ef")]
    audio.done(1)
    audio.complete(3 / 24_000)
    assert list(audio.ended()) == [AudioStreamEnd(2, round(3 / 24_000, 6))]
    assert list(audio.ended()) == []
    assert [times.audio_s for times in timeline.sentences] == pytest.approx([2 / 24_000, 1 / 24_000], abs=1e-6)


def test_nothing_started_is_nothing_ended() -> None:
    assert list(two_sentences().ended()) == []


def test_the_wav_header_comes_once_and_does_not_count_as_sound() -> None:
    audio = two_sentences("wav")
    assert list(audio.started(24_000)) == [AudioStreamStart("wav", 24_000), AudioChunk(0, wav_header(24_000))]
    list(audio.heard(0, b"ab"))
    assert list(audio.started(24_000)) == []
    assert list(audio.ended()) == [AudioStreamEnd(2, round(1 / 24_000, 6))]


@pytest.mark.parametrize("audio_format", ["pcm", "wav"])
def test_samples_go_on_in_the_same_stream_after_another_session_took_over(audio_format: AudioFormat) -> None:
    audio = two_sentences(audio_format)
    list(audio.started(24_000))
    list(audio.heard(0, b"ab" * 24_000))
    assert list(audio.broken()) == []
    assert list(audio.started(24_000)) == []
    list(audio.heard(0, b"cd" * 24_000))
    assert audio.position_s == 2.0


def test_an_encoded_stream_that_broke_off_ends_and_another_begins() -> None:
    audio = two_sentences("mp3")
    list(audio.started(24_000))
    list(audio.heard(0, bytes(6_040)))
    assert list(audio.broken()) == [AudioStreamEnd(1, 1.0)]
    assert audio.position_s == pytest.approx(1.0)
    assert list(audio.started(24_000)) == [AudioStreamStart("mp3", 24_000)]
    list(audio.heard(0, bytes(6_040)))
    audio.complete(1.25)
    assert list(audio.ended()) == [AudioStreamEnd(1, 1.25)]
    assert audio.position_s == pytest.approx(2.25)


def test_an_encoded_stream_is_as_long_as_the_server_says() -> None:
    audio, timeline = timed("opus")
    list(audio.started(24_000))
    list(audio.heard(0, bytes(3_900)))
    audio.done(0)
    list(audio.heard(1, bytes(3_900)))
    audio.complete(2.5)
    audio.done(1)
    assert list(audio.ended()) == [AudioStreamEnd(2, 2.5)]
    assert [times.audio_s for times in timeline.sentences] == [1.0, 1.5]


def test_words_are_told_where_there_are_some() -> None:
    audio = two_sentences()
    word = WordTime("Two", 0.75, 1.0, 5, 8)
    assert list(audio.words(1, (word,))) == [SentenceTimestamps(1, (word,))]
    assert list(audio.words(1, ())) == []


def test_the_wav_header_says_what_the_samples_are() -> None:
    data = wav_header(24_000) + bytes(480)
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        assert file.readframes(240) == bytes(480)
