"""A caller's pronunciations reach the voice, and bad ones are refused before anything is said."""

import pytest
from speech_text import KOKORO_SYMBOLS, FrontEnd, LexiconInvalid
from speech_text.lexicon import check, find


def test_words_are_said_as_the_lexicon_has_them(front_end: FrontEnd) -> None:
    lexicon = {"kokoro": "kˈOkəɹO", "New York": "nˈu jˈɔk"}
    sent = "Kokoro, in New York, loves kokoro."
    (segment,) = front_end.segments(sent, lexicon=lexicon)
    said = {word.text: segment.phonemes[word.phoneme_start : word.phoneme_end] for word in segment.words}
    assert said["Kokoro"] == said["kokoro"] == "kˈOkəɹO"
    assert said["New York"] == "nˈu jˈɔk"


def test_nothing_beside_a_given_word_is_lost(front_end: FrontEnd) -> None:
    (segment,) = front_end.segments("GPT-4o and Kokoro-based, not re-Kokoro.", lexicon={"Kokoro": "kˈO"})
    assert [word.text for word in segment.words] == ["GPT", "4o", "and", "Kokoro", "based", "not", "re", "Kokoro"]
    assert segment.phonemes == "ʤˌipˌitˈi fˈɔɹ ˈO ænd kˈO bˈAst, nˌɑt ɹˌA kˈO."


def test_a_capital_entry_matches_only_itself() -> None:
    assert [(found.start, found.end) for found in find({"US": "jˌuˈɛs"}, "US and us")] == [(0, 2)]


def test_an_entry_matches_whole_words_and_the_longest_wins() -> None:
    found = find({"new": "a", "new york": "b"}, "new york renewal new")
    assert [(match.start, match.end, match.phonemes) for match in found] == [(0, 8, "b"), (17, 20, "a")]


@pytest.mark.parametrize(
    ("lexicon", "why"),
    [
        ({"": "a"}, "needs a word"),
        ({"a": " "}, "needs a word"),
        ({"a": "ж"}, "does not know"),
        ({"a" * 101: "a"}, "at most 100 characters"),
        ({str(n): "a" for n in range(1001)}, "at most 1000 entries"),
    ],
)
def test_a_bad_lexicon_is_refused(lexicon: dict[str, str], why: str) -> None:
    with pytest.raises(LexiconInvalid, match=why):
        check(lexicon, KOKORO_SYMBOLS)
