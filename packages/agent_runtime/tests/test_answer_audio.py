import io
import wave

from agent_runtime.answer_audio import AnswerAudio, wav_header
from agent_runtime.events import AudioChunk, AudioStreamEnd, AudioStreamStart, SentenceTimestamps
from agent_runtime.request import AnswerFormat
from agent_runtime.timeline import Timeline
from speech_protocol import WordTime


def two_sentences(audio_format: AnswerFormat = "pcm") -> AnswerAudio:
    timeline = Timeline(lambda: 0.0)
    timeline.wrote("One. Two.")
    timeline.add("One.")
    timeline.add("Two.")
    return AnswerAudio(audio_format, timeline)


def test_two_sentences_are_one_stream() -> None:
    audio = two_sentences()
    assert list(audio.started(24_000)) == [AudioStreamStart("pcm", 24_000)]
    assert list(audio.heard(0, b"abcd")) == [AudioChunk(0, b"abcd")]
    audio.done(0)
    assert list(audio.started(24_000)) == []
    assert list(audio.heard(1, b"ef")) == [AudioChunk(1, b"ef")]
    audio.done(1)
    assert list(audio.ended()) == [AudioStreamEnd(2, round(3 / 24_000, 6))]
    assert list(audio.ended()) == []


def test_nothing_started_is_nothing_ended() -> None:
    assert list(two_sentences().ended()) == []


def test_the_wav_header_comes_once_and_does_not_count_as_sound() -> None:
    audio = two_sentences("wav")
    assert list(audio.started(24_000)) == [AudioStreamStart("wav", 24_000), AudioChunk(0, wav_header(24_000))]
    list(audio.heard(0, b"ab"))
    audio.done(0)
    assert list(audio.started(24_000)) == []
    assert list(audio.ended()) == [AudioStreamEnd(2, round(1 / 24_000, 6))]


def test_word_times_are_shifted_by_what_sounded_before() -> None:
    audio = two_sentences()
    list(audio.started(1_000))
    list(audio.heard(0, b"ab" * 500))
    audio.done(0)
    list(audio.started(1_000))
    list(audio.heard(1, b"ab" * 100))
    word = WordTime("Two", 0.25, 0.5, 0, 3)
    assert list(audio.words(1, (word,))) == [SentenceTimestamps(1, (WordTime("Two", 0.75, 1.0, 0, 3),))]


def test_the_wav_header_says_what_the_samples_are() -> None:
    data = wav_header(24_000) + bytes(480)
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        assert file.readframes(240) == bytes(480)
