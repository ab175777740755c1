"""The ledger's clock is a number that the tests choose."""

import pytest
from speech_client import Deadlines, RequestEvent, SpeechProtocolError
from speech_client.ledger import RequestLedger, RequestPart, request_ids
from speech_protocol import Audio, ErrorEvent, SynthesisCancelled, SynthesisComplete, SynthesisStart, Timestamps

LIMITS = Deadlines(first_audio_s=30, silence_s=15)
SOUND = Audio(b"\1\2")


def start(request_id: str) -> SynthesisStart:
    return SynthesisStart(request_id, "pcm", 24000, "af_heart")


def complete(request_id: str) -> SynthesisComplete:
    return SynthesisComplete(request_id, 1, 1, 0, 0.1, 2)


def ledger(*request_ids: str) -> RequestLedger:
    made = RequestLedger(LIMITS, now_s=0)
    for request_id in request_ids:
        made.sent(request_id, now_s=0)
    return made


def due(of: RequestLedger) -> tuple[float, str, str | None] | None:
    found = of.due()
    return None if found is None else (found.at_s, found.waiting_for, found.request_id)


@pytest.mark.parametrize("name", ["connect_s", "first_audio_s", "silence_s", "close_s"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_deadline_is_greater_than_zero(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Deadlines(**{name: value})


def test_audio_belongs_to_the_request_that_started_last() -> None:
    book = ledger("a", "b")
    events: list[RequestPart] = [start("a"), SOUND, complete("a"), start("b"), SOUND, complete("b")]
    assert [book.absorb(event, 1) for event in events] == [
        RequestEvent(request_id, event) for request_id, event in zip("aaabbb", events, strict=True)
    ]
    assert book.in_flight == ()


def test_timestamps_name_their_own_request() -> None:
    words = Timestamps("a", ())
    assert ledger("a").absorb(words, 1) == RequestEvent("a", words)


@pytest.mark.parametrize("before", [[], [start("a"), complete("a")]])
def test_audio_outside_of_a_request_breaks_the_contract(before: list[SynthesisStart | SynthesisComplete]) -> None:
    book = ledger("a", "b")
    for event in before:
        book.absorb(event, 1)
    with pytest.raises(SpeechProtocolError, match="outside of any request"):
        book.absorb(SOUND, 1)


def test_requests_that_are_answered_out_of_order_break_the_contract() -> None:
    with pytest.raises(SpeechProtocolError, match="'a' was to be answered first"):
        ledger("a", "b").absorb(start("b"), 1)


def test_interleaved_requests_break_the_contract() -> None:
    book = ledger("a", "b")
    book.absorb(start("a"), 1)
    with pytest.raises(SpeechProtocolError):
        book.absorb(start("a"), 1)


def test_completing_what_was_not_asked_breaks_the_contract() -> None:
    with pytest.raises(SpeechProtocolError, match="'x'"):
        ledger("a").absorb(complete("x"), 1)


def test_an_error_or_a_cancel_ends_a_request_wherever_it_stands() -> None:
    book = ledger("a", "b", "c")
    book.absorb(start("a"), 1)
    book.absorb(ErrorEvent("b", "busy", "…"), 1)
    assert list(book.in_flight) == ["a", "c"]
    book.absorb(SynthesisCancelled("a", "", "…", 0), 1)
    assert list(book.in_flight) == ["c"]
    assert "c" in book
    assert "a" not in book


def test_a_cancel_that_came_too_late_and_an_error_of_no_request_change_nothing() -> None:
    book = ledger("a")
    late = SynthesisCancelled("gone", "…", "", 1)
    assert book.absorb(late, 1) == RequestEvent("gone", late)
    stray = ErrorEvent(None, "invalid_message", "…")
    assert book.absorb(stray, 1) == RequestEvent(None, stray)
    assert book.in_flight == ("a",)


def test_nothing_is_due_while_nothing_is_waited_for() -> None:
    book = ledger("a")
    book.absorb(start("a"), 1)
    book.absorb(complete("a"), 2)
    assert due(book) is None


def test_the_first_audio_is_due_from_when_a_request_was_sent() -> None:
    book = RequestLedger(LIMITS, now_s=0)
    book.sent("a", now_s=5)
    assert due(book) == (35, "first audio", "a")
    book.sent("b", now_s=6)
    assert due(book) == (35, "first audio", "a")


def test_the_announcement_of_audio_is_not_audio() -> None:
    book = ledger("a")
    book.frame_came(20)
    book.absorb(start("a"), 20)
    assert due(book) == (30, "first audio", "a")


def test_a_request_that_had_to_queue_is_due_from_when_its_turn_came() -> None:
    book = ledger("a", "b")
    book.absorb(start("a"), 1)
    book.absorb(SOUND, 1)
    book.absorb(complete("a"), 100)
    assert due(book) == (130, "first audio", "b")


def test_once_audio_flows_every_frame_renews_the_wait() -> None:
    book = ledger("a")
    book.absorb(start("a"), 1)
    book.frame_came(2)
    book.absorb(SOUND, 2)
    assert due(book) == (17, "next frame", "a")
    book.frame_came(9)
    assert due(book) == (24, "next frame", "a")


def test_an_answer_is_due_while_nothing_else_is_heard() -> None:
    book = RequestLedger(LIMITS, now_s=0)
    book.asked(now_s=1)
    assert due(book) == (16, "answer", None)
    book.frame_came(10)
    assert due(book) == (25, "answer", None)
    book.answered()
    book.answered()  # one too many does no harm
    assert due(book) is None


def test_the_earliest_deadline_counts() -> None:
    book = ledger("a")
    book.asked(now_s=1)
    assert due(book) == (16, "answer", None)
    book.answered()
    assert due(book) == (30, "first audio", "a")


def test_time_in_which_nobody_reads_is_not_the_servers() -> None:
    book = ledger("a")
    book.asked(now_s=0)
    book.paused()
    assert due(book) is None
    book.resumed(100)
    assert due(book) == (115, "answer", None)
    book.answered()
    assert due(book) == (130, "first audio", "a")


def test_a_missed_deadline_says_what_was_waited_for_and_what_to_do() -> None:
    found = ledger("a").due()
    assert found is not None
    error = found.error()
    assert (error.waiting_for, error.limit_s, error.request_id, error.retryable) == ("first audio", 30, "a", True)
    assert "no first audio of request a within 30 s" in str(error)
    assert "open a new session" in str(error)


def test_ids_are_told_apart_and_show_their_order() -> None:
    ids, others = request_ids(), request_ids()
    first, second = next(ids), next(ids)
    assert first.endswith("-1")
    assert second.endswith("-2")
    assert next(others) != first


def test_an_open_context_at_the_head_has_no_deadline_until_it_is_written() -> None:
    book = RequestLedger(LIMITS, now_s=0)
    book.sent("c", now_s=0, is_open=True)
    book.sent("behind", now_s=1)
    assert due(book) is None
    book.written("c", now_s=100)
    assert due(book) == (130, "first audio", "c")


def test_silence_in_a_context_counts_from_when_it_was_written() -> None:
    book = RequestLedger(LIMITS, now_s=0)
    book.sent("c", now_s=0, is_open=True)
    book.absorb(start("c"), 1)
    book.frame_came(2)
    book.absorb(SOUND, 2)
    assert due(book) is None
    book.written("c", now_s=50)
    assert due(book) == (65, "next frame", "c")
    book.written("c", now_s=60)
    assert due(book) == (65, "next frame", "c")


def test_a_context_that_ends_early_leaves_nothing_open() -> None:
    book = RequestLedger(LIMITS, now_s=0)
    book.sent("c", now_s=0, is_open=True)
    book.absorb(ErrorEvent("c", "busy", "…"), 1)
    assert book.in_flight == ()
    book.sent("c", now_s=2)
    assert due(book) == (32, "first audio", "c")
