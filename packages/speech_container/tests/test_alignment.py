"""When words sound, and what was heard."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.alignment import Alignment, Transcript, word_times
from speech_container.engine import Waveform
from speech_container.narration import Narrator
from speech_container.spelling import Spelling, SpellingFrontEnd
from speech_container.synthesis import Spoken
from speech_container.tone_engine import ToneEngine
from speech_container.voices import VoiceBook
from speech_protocol import Synthesize, VoiceOptions, WordTime
from speech_text import KOKORO_SYMBOLS, FrontEnd

NARRATOR = Narrator(SpellingFrontEnd(), Spelling(), VoiceBook.of_tones())


def speak(text: str, narrator: Narrator = NARRATOR, **options: Any) -> list[Spoken]:
    script = narrator.script(Synthesize(text, VoiceOptions(**options)))
    waveforms = ToneEngine().synthesize([line.utterance for line in script.lines])
    return [Spoken(index, line, waveforms[index]) for index, line in enumerate(script.lines)]


def align(lines: list[Spoken]) -> tuple[list[WordTime], Alignment, float]:
    """All words, the alignment, and the length of the audio."""
    words: list[WordTime] = []
    alignment = Alignment()
    end_s = 0.0
    for line in lines:
        found = word_times(line, start_s=end_s)
        alignment.add(line, found, start_s=end_s, start_char=0)
        words += found
        end_s += line.waveform.duration_s
    return words, alignment, end_s


def check(text: str, words: list[WordTime], end_s: float) -> None:
    """What holds of any answer."""
    assert words
    assert words[0].start_s > 0
    assert words[-1].end_s <= end_s
    assert all(word.start_s < word.end_s for word in words)
    assert all(one.end_s <= other.start_s for one, other in pairwise(words))
    assert all(one.end_char <= other.start_char for one, other in pairwise(words))
    assert all(text[word.start_char : word.end_char] == word.word for word in words)


def test_a_word_lasts_from_its_first_phoneme_to_its_last() -> None:
    # the engine gives a boundary 2 frames and a token 1 + id % 3; a character's id is 1 + its code % 177
    (line,) = speak("ab c")
    frames = [1 + (1 + ord(character)) % 3 for character in "ab c"]
    first, second = word_times(line, start_s=1.0, start_char=10)
    begin_s = 1.0 + 2 * 0.025
    assert first == WordTime("ab", begin_s, first.end_s, 10, 12)
    assert first.end_s == pytest.approx(begin_s + sum(frames[:2]) * 0.025)
    assert second.start_s == pytest.approx(begin_s + sum(frames[:3]) * 0.025)
    assert (second.start_char, second.end_char) == (13, 14)


def test_sounds_that_come_before_their_frames_are_timed_by_the_sound() -> None:
    (line,) = speak("ab c")
    for lead_s, moved_s in ((0.03, 0.03), (9.0, 0.05)):  # by no more than the silence in front of the first word
        early = Spoken(0, line.line, Waveform(line.waveform.samples, line.waveform.frames, lead_s))
        for word, exact in zip(word_times(early, start_s=1.0), word_times(line, start_s=1.0), strict=True):
            assert exact.start_s - word.start_s == pytest.approx(moved_s)
            assert exact.end_s - word.end_s == pytest.approx(moved_s)


def test_an_engine_without_durations_has_no_word_times_and_is_aligned_by_the_line() -> None:
    lines = [Spoken(line.index, line.line, Waveform(line.waveform.samples, None)) for line in speak("One. Two.")]
    words, alignment, end_s = align(lines)
    assert words == []
    assert alignment.chars_heard(end_s) == 9
    assert alignment.chars_heard(lines[0].waveform.duration_s) == 4
    assert alignment.chars_heard(lines[0].waveform.duration_s - 0.1) == 0


def test_speed_is_in_the_times() -> None:
    slow, fast = (align(speak("One is here.", speed=speed))[0] for speed in (0.5, 2.0))
    assert slow[-1].end_s > 2 * fast[-1].end_s


@given(st.text(max_size=60).filter(lambda text: any(map(str.isalnum, text))))
def test_any_text_is_aligned_in_order(text: str) -> None:
    words, alignment, end_s = align(speak(text))
    check(text, words, end_s)
    heard = [alignment.chars_heard(moment_s) for moment_s in np.arange(0.0, end_s + 0.1, 0.05)]
    assert heard == sorted(heard)
    assert heard[0] == 0
    assert text[heard[-1] :].strip() == ""


@given(st.text(max_size=60).filter(lambda text: any(map(str.isalnum, text))), st.none() | st.floats(0, 20))
def test_spoken_and_remaining_are_the_text(text: str, played_s: float | None) -> None:
    _, alignment, end_s = align(speak(text))
    end = Transcript("r", text, alignment, end_s).cancelled(played_s)
    assert end.text_spoken + end.text_remaining == text
    assert end.audio_s == pytest.approx(end_s, abs=1e-6)


def test_a_word_counts_when_it_was_heard_whole_and_the_last_takes_its_full_stop_along() -> None:
    text = "One is here. Two."
    words, alignment, end_s = align(speak(text))
    transcript = Transcript("r", text, alignment, end_s)
    assert transcript.cancelled(words[1].end_s - 0.02).text_spoken == "One"
    assert transcript.cancelled(words[1].end_s).text_spoken == "One is"
    assert transcript.cancelled(words[2].end_s).text_spoken == "One is here."


def test_nobody_can_have_heard_more_than_was_sent() -> None:
    text = "One is here."
    words, alignment, _ = align(speak(text))
    end = Transcript("r", text, alignment, words[0].end_s).cancelled(100.0)
    assert (end.text_spoken, end.audio_s) == ("One", words[0].end_s)


def test_nothing_was_spoken_of_a_request_that_never_began() -> None:
    end = Transcript.unspoken("r", "One.").cancelled(3.0)
    assert (end.text_spoken, end.text_remaining, end.audio_s) == ("", "One.", 0.0)


IN_EVERY_LANGUAGE = {
    "en-us": "Pay €45 by 6:15pm, Dr. Smith!",
    "en-gb": "Pay £45 by 6:15pm, Dr. Smith!",
    "es": "Pague 45 € antes de las 18:15, señora.",
    "fr": "Payez 45 € avant 18 h 15, s’il vous plaît.",
    "hi": "कृपया ₹45 आज ही दें।",
    "it": "Paghi 45 € entro le 18:15, per favore.",
    "pt-br": "Pague R$ 45 até as 18:15, por favor.",
    "ja": "今日は45円です。東京に行きます。",
    "zh": "今天是2026年。请付45元。",
}


@pytest.fixture(scope="module")
def kokoro() -> Narrator:
    vocabulary = {symbol: number for number, symbol in enumerate(sorted(KOKORO_SYMBOLS), start=1)}
    return Narrator(FrontEnd(vocabulary), vocabulary, VoiceBook.of_tones())


@pytest.mark.parametrize("language", IN_EVERY_LANGUAGE)
def test_words_are_timed_in_every_language(kokoro: Narrator, language: str) -> None:  # [21]
    if language not in kokoro.languages:
        pytest.skip(f"the extra for {language} is not installed")
    text = IN_EVERY_LANGUAGE[language]
    words, _, end_s = align(speak(text, kokoro, language=language, timestamps=True))
    check(text, words, end_s)
    assert words[0].start_char == 0
    if language.startswith("en"):
        assert [word.word for word in words][:4] == [*text.split()[:3], "6:15pm"]


def test_every_language_has_its_case(kokoro: Narrator) -> None:
    assert set(kokoro.languages) <= set(IN_EVERY_LANGUAGE)
