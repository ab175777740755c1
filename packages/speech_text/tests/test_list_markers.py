"""List markers are told from numbers by where they stand."""

import pytest
from speech_text.list_markers import is_marker, next_item


@pytest.mark.parametrize("marker", ["1.", "12)", "(3)", "a.", "IV.", "- 2.", "**1.", "1.2.", "1.)"])
def test_it_is_a_marker(marker: str) -> None:
    assert is_marker(marker, 0, len(marker))


@pytest.mark.parametrize("text", ["2024.", "ab.", "mix.", "Yes.", "1", "1. Mix."])
def test_it_is_no_marker(text: str) -> None:
    assert not is_marker(text, 0, len(text))


@pytest.mark.parametrize(
    ("text", "stop", "answer"),
    [
        ("1. Mix 2. Bake", 8, 6),
        ("1. Mix 3. Bake", 8, None),
        ("1) Mix 2) Bake", 8, 6),
        ("1) Mix 2. Bake", 8, None),
        ("a. Mix b. Bake", 8, 6),
        ("• 9. Mix • 10. Bake", 13, 8),
        ("1. Mix 2.5 cups", 8, None),
        ("1. Mix x2. Then", 9, None),
        ("Mix 2. Bake", 5, None),
        ("1. Mix 2.", 8, -1),
    ],
)
def test_the_successor_begins_the_next_item(text: str, stop: int, answer: int | None) -> None:
    assert next_item(text, 0, stop, stop + 1, len(text), final=False) == answer
