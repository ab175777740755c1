"""Quotes and brackets open and close as people mean them."""

import pytest
from speech_text.enclosures import Open, turn


def opened(text: str) -> Open:
    """What is open after the whole text."""
    state: Open = ()
    for i, mark in enumerate(text):
        if mark in '()[]{}"“”„«»‘’「」':
            state = turn(text, 0, i, text[i + 1 : i + 2], state)
    return state


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ('He said "Stop', 1),
        ('He said "Stop."', 0),
        ("(one [two", 2),
        ("(one [two)", 0),
        ("a) b) c)", 0),
        ("so sad :( but", 0),
        ("“one „two", 2),
        ("„eins“ zwei", 0),
        ("« un » deux", 0),
        ("»eins« zwei »drei", 1),
        ("‘one’s own", 1),
        ("‘one’ two", 0),
        ("’90s and don’t", 0),
        ('a 6" pipe', 0),
        ('" ', 0),
        ("「はい", 1),
        ("(" * 50, 12),
    ],
)
def test_so_many_are_open(text: str, depth: int) -> None:
    assert len(opened(text)) == depth
