"""The session as a state: messages in, effects out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.errors import Refusal
from speech_container.turn import Hush, Send, Stop
from speech_protocol import ErrorCode, ErrorEvent, Pong

from packages.speech_container.tests.bare_session import CAPABILITIES, begin, make, say


def test_a_request_begins_and_waits_for_its_answer() -> None:
    session = make()
    turn = begin(session, "r")
    assert turn.request_id == "r"
    assert session.head is turn
    session.answered()
    assert session.head is None


def test_a_request_without_an_id_gets_one() -> None:
    (effect,) = say(make(), text="Hello.")
    assert effect.turn.request_id == "new"


def test_answers_are_owed_in_the_order_of_the_messages() -> None:
    session = make()
    first = begin(session, "1")
    assert say(session, text="Hi.", speed=99, request_id="2") == []
    third = begin(session, "3")
    owed = []
    while session.head is not None:
        owed.append(session.head)
        session.answered()
    assert owed[0] is first
    assert isinstance(owed[1], ErrorEvent)
    assert owed[1].request_id == "2"
    assert owed[2] is third


def test_ping_and_hello_are_answered_at_once() -> None:
    session = make()
    begin(session, "r")
    assert say(session, type="ping", id="p") == [Send(Pong("p"))]
    assert say(session, type="hello") == [Send(CAPABILITIES)]


def test_past_the_bound_a_request_is_busy_and_a_faulty_message_an_error_at_once() -> None:
    session = make(max_waiting=1)
    begin(session, "1")
    (busy,) = say(session, text="Hi.", request_id="2")
    assert (busy.event.code, busy.event.request_id, busy.event.retryable) == ("busy", "2", True)
    (faulty,) = session.receive("{")
    assert isinstance(faulty, Send)
    assert isinstance(faulty.event, ErrorEvent)
    assert faulty.event == ErrorEvent.of(ErrorCode.INVALID_JSON, faulty.event.message)
    assert session.waiting == 1


def test_while_no_requests_are_taken_each_gets_the_reason() -> None:
    session = make(refusal=Refusal(ErrorCode.SHUTTING_DOWN, "the server is shutting down"))
    assert say(session, text="Hi.", request_id="r") == []
    assert session.head == ErrorEvent.of(ErrorCode.SHUTTING_DOWN, "the server is shutting down", "r")


@pytest.mark.parametrize("fields", [{"request_id": "1"}, {}], ids=["one", "all"])
def test_cancel_stops_what_it_names(fields: dict[str, str]) -> None:
    session = make()
    first, second = begin(session, "1"), begin(session, "2")
    stopped = say(session, type="cancel", **fields)
    assert stopped == [Stop(first)] if fields else [Stop(first), Stop(second)]
    assert first.cancelled
    assert second.cancelled is not bool(fields)


@pytest.mark.parametrize("fields", [{"request_id": "other"}, {"context_id": "1"}], ids=["request", "context"])
def test_cancelling_what_is_not_there_does_nothing(fields: dict[str, str]) -> None:
    session = make()
    turn = begin(session, "1")
    assert say(session, type="cancel", **fields) == []
    assert not turn.cancelled


def test_a_turn_is_stopped_once() -> None:
    session = make()
    begin(session, "1")
    assert len(say(session, type="cancel")) == 1
    assert say(session, type="cancel") == [Hush()]


def test_a_barge_in_after_the_last_answer_makes_the_next_request_urgent() -> None:
    session = make()
    assert say(session, type="cancel") == [Hush()]
    assert say(session, type="cancel", request_id="nobody") == []


def test_close_cancels_all_but_the_head_and_ends_listening() -> None:
    session = make()
    first, second = begin(session, "1"), begin(session, "2")
    assert say(session, type="close") == [Stop(second)]
    assert session.closing
    assert not first.cancelled
    assert say(session, text="Hi.") == []
    assert say(session, type="ping") == []
    assert session.waiting == 2


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40), max_size=20))
def test_any_bytes_cost_at_most_an_error_each(messages: list[bytes | str]) -> None:
    session = make(max_waiting=3)
    for message in messages:
        effects = session.receive(message)
        assert len(effects) <= 1
        assert session.waiting <= 3
    assert say(session, type="ping") == [Send(Pong(None))]
