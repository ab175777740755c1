"""Segments fit, words keep their places, and signs belong to the word beside them."""

from speech_text.segments import Sound, pack


def sounds(*rows: tuple[str, str, bool]) -> tuple[list[Sound], str]:
    """Sounds and the text they came from, from (written, phonemes, spaced)."""
    source, result = "", []
    for written, phonemes, spaced in rows:
        start = len(source)
        source += written
        result.append(Sound(phonemes, spaced, start, len(source), False))
        source += " " if spaced else ""
    return result, source


def test_a_sign_without_a_sound_belongs_to_its_number() -> None:
    sentence, source = sounds(("Pay", "pA", True), ("€", "", False), ("45", "fI", False), (".", ".", False))
    (segment,) = pack(sentence, source, 510)
    assert [word.text for word in segment.words] == ["Pay", "€45"]
    assert segment.phonemes == "pA fI."
    assert (segment.words[1].phoneme_start, segment.words[1].phoneme_end) == (3, 5)


def test_sounds_of_one_written_word_are_one_word() -> None:
    source = "€45 now"
    sentence = [Sound("fO", True, 0, 3, False), Sound("jU", True, 0, 3, False), Sound("nW", False, 4, 7, False)]
    (segment,) = pack(sentence, source, 510)
    assert [(word.text, word.phoneme_start, word.phoneme_end) for word in segment.words] == [
        ("€45", 0, 5),
        ("now", 6, 8),
    ]


def test_a_long_sentence_is_cut_after_a_clause_in_its_second_half() -> None:
    sentence, source = sounds(
        ("a", "aa", True), ("b", "bb", False), (",", ",", True), ("c", "cc", True), ("d", "dd", False)
    )
    parts = pack(sentence, source, 10)
    assert [part.phonemes for part in parts] == ["aa bb,", "cc dd"]


def test_a_sentence_without_a_sound_gives_nothing() -> None:
    sentence, source = sounds(("!", "!", False))
    assert pack(sentence, source, 510) == []


def test_what_is_unknown_is_named() -> None:
    (segment,) = pack([Sound("a", True, 0, 1, False), Sound("", False, 2, 4, True)], "a 你好", 510)
    assert segment.unsupported == ("你好",)
