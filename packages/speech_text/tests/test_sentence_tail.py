"""Closing marks, citations and emoji belong to the sentence before."""

import pytest
from speech_text.sentence_tail import close, settle


@pytest.mark.parametrize(
    ("tail", "taken"),
    [
        ('." T', '."'),
        (".) T", ".)"),
        (".** T", ".**"),
        (".[1] T", ".[1]"),
        (".[a] T", "."),
        ("?”! T", "?”!"),
        (".'s T", "."),
    ],
)
def test_what_closes_is_taken_in(tail: str, taken: str) -> None:
    assert close(tail, 0, 1, len(tail), False, ()) == (len(taken), ())


def test_it_waits_while_more_could_close() -> None:
    assert close('."', 0, 1, 2, False, ()) is None
    assert close('."', 0, 1, 2, True, ()) == (2, ())


@pytest.mark.parametrize(
    ("rest", "taken"),
    [
        (" 🎉 Next", " 🎉"),
        (" Next", ""),
        ("\n🎉\nNext", "\n🎉"),
        ("\n✅ Next", ""),
        (" :) Next", " :)"),
        (" 👩‍👩‍👧 Next", " 👩‍👩‍👧"),
    ],
)
def test_an_emoji_never_stands_alone(rest: str, taken: str) -> None:
    settled = settle(rest, 0, len(rest), False)
    assert settled is not None
    assert rest[: settled.cut] == taken


def test_it_waits_while_an_emoji_could_go_on() -> None:
    assert settle(" 👩", 0, 2, False) is None
    assert settle(" :", 0, 2, False) is None
