"""What the session knows of what was heard, and tells whoever interrupts it."""

import pytest
from speech_container.alignment import Alignment, Transcript
from speech_container.session import Session
from speech_container.turn import Hush, Send, Stop
from speech_protocol import SynthesisCancelled

from packages.speech_container.tests.bare_session import begin, make, say


def heard(session: Session, request_id: str, *, chars: int = 5, context: bool = False) -> None:
    """Answer the head as one whose first `chars` characters take the first second."""
    alignment = Alignment()
    alignment.mark(1.0, chars)
    session.answered(Transcript(request_id, "Hello. Again.", alignment, 2.0))


def test_a_cancel_tells_how_much_of_the_answer_in_hand_was_played() -> None:
    session = make()
    first, second = begin(session, "1"), begin(session, "2")
    say(session, type="cancel", played_s=1.5)
    assert (first.played_s, second.played_s) == (1.5, None)


@pytest.mark.parametrize("fields", [{"request_id": "1"}, {}], ids=["one", "latest"])
def test_a_barge_in_after_the_end_tells_what_was_heard_once(fields: dict[str, str]) -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    cancel = {"type": "cancel", "played_s": 1.5, **fields}
    assert say(session, **cancel) == [Send(SynthesisCancelled("1", "Hello", ". Again.", 2.0)), Hush()]
    assert all(effect == Hush() for effect in say(session, **cancel))


def test_a_late_cancel_without_played_s_tells_nothing_and_stops_the_sound_once() -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    assert say(session, type="cancel", request_id="1") == [Hush()]
    assert say(session, type="cancel", request_id="1") == []


def test_a_late_cancel_of_what_never_was_stops_nothing() -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    assert say(session, type="cancel", request_id="2") == []
    assert say(session, type="cancel", context_id="1", played_s=1.5) == [], "a request is no context"


def test_a_barge_in_for_all_is_about_the_answer_in_hand_where_there_is_one() -> None:
    session = make()
    begin(session, "1")
    heard(session, "1")
    turn = begin(session, "2")
    assert say(session, type="cancel", played_s=1.5) == [Stop(turn)]
    assert say(session, type="cancel", played_s=1.5, request_id="1") != []


@pytest.mark.parametrize("fields", [{"request_id": "2"}, {}], ids=["one", "all"])
def test_a_second_barge_in_is_not_about_an_earlier_answer(fields: dict[str, str]) -> None:
    session = make()
    begin(session, "2")
    heard(session, "2")
    turn = begin(session, "2")
    cancel = {"type": "cancel", "played_s": 1.5, **fields}
    assert say(session, **cancel) == [Stop(turn)]
    assert not [effect for effect in say(session, **cancel) if isinstance(effect, Send)]


def test_what_was_heard_is_remembered_for_a_bounded_while() -> None:
    session = make()
    for number in range(40):
        begin(session, str(number))
        heard(session, str(number))
    told = [bool(say(session, type="cancel", played_s=0, request_id=str(number))) for number in range(40)]
    assert told == [False] * 33 + [True] * 7, "100 characters of text: what a session may say in one request"
