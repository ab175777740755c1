"""Sounds said together find the words they belong to."""

import pytest
from speech_text.sharing import share, spoken_words


@pytest.mark.parametrize(
    ("alone", "together", "shares"),
    [
        ([["a"], ["b"]], ["a", "b"], [["a"], ["b"]]),
        ([["le"], ["ami"]], ["lez", "ami"], [["lez"], ["ami"]]),
        ([["ka", "i", "θi"], ["euro"]], ["kai", "θi", "euro"], [["kai", "θi"], ["euro"]]),
        ([["sɛ"], ["a"], ["to"]], ["sɛta", "to"], [["sɛta"], [], ["to"]]),
        ([["a"], ["b"]], [], [[], []]),
        ([["a"]], ["x", "y", "z", "u", "v", "w"], [["x", "y", "z", "u", "v", "w"]]),
    ],
)
def test_each_word_gets_its_run(alone: list[list[str]], together: list[str], shares: list[list[str]]) -> None:
    assert share(alone, together) == shares


def test_a_word_without_sounds_joins_its_neighbour() -> None:
    spoken = spoken_words([(0, 2, True), (3, 4, True), (5, 7, False)], [["sɛta"], [], ["to"]], [False] * 3)
    assert [(word.start, word.end, word.phonemes) for word in spoken] == [(0, 4, "sɛta"), (5, 7, "to")]
    leading = spoken_words([(0, 2, True), (3, 4, False)], [[], ["a"]], [False] * 2)
    assert [(word.start, word.end, word.phonemes) for word in leading] == [(0, 4, "a")]


def test_an_unknown_word_stays_by_itself() -> None:
    spoken = spoken_words([(0, 2, True), (3, 4, False)], [["a"], []], [False, True])
    assert [(word.phonemes, word.unknown) for word in spoken] == [("a", False), ("", True)]
