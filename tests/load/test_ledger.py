"""The ledger lets through what the contract allows, and nothing else."""

import json
from typing import Any

import pytest

from tests.load.ledger import Ledger, Violation
from tests.load.reading import Ended, Limits

START = {"type": "synthesis_start", "format": "pcm", "sample_rate": 24000, "voice": "af_heart"}
COMPLETE = {"type": "synthesis_complete", "elapsed_s": 0.1, "queue_s": 0.0, "first_audio_s": 0.1}


def make() -> Ledger:
    return Ledger(Limits(max_text_chars=100, max_waiting=2, max_contexts=2))


def say(ledger: Ledger, **fields: Any) -> None:
    ledger.sent(json.dumps(fields))


def hear(ledger: Ledger, **fields: Any) -> None:
    ledger.received(json.dumps(fields))


def start(ledger: Ledger, name: str, **fields: Any) -> None:
    hear(ledger, **START | {"request_id": name} | fields)


def complete(ledger: Ledger, name: str, audio_bytes: int = 0) -> None:
    hear(ledger, **COMPLETE, request_id=name, audio_bytes=audio_bytes, total_duration_s=audio_bytes / 48_000)


def cancelled(ledger: Ledger, name: str, spoken: str, remaining: str = "") -> None:
    hear(
        ledger,
        type="synthesis_cancelled",
        request_id=name,
        text_spoken=spoken,
        text_remaining=remaining,
        audio_s=0.0,
    )


def error(ledger: Ledger, name: str | None, code: str) -> None:
    hear(ledger, type="error", request_id=name, code=code, message="m")


def test_answers_come_in_order_with_their_audio() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    say(ledger, text="Two.", request_id="b")
    start(ledger, "a")
    ledger.received(b"\0\0" * 100)
    complete(ledger, "a", 200)
    start(ledger, "b")
    complete(ledger, "b")
    ledger.require_quiet()
    assert ledger.ended == (Ended("a", "complete"), Ended("b", "complete"))


def two_requests(ledger: Ledger) -> None:
    say(ledger, text="One.", request_id="a")
    say(ledger, text="Two.", request_id="b")


def test_another_order_is_a_violation() -> None:
    ledger = make()
    two_requests(ledger)
    with pytest.raises(Violation, match="not what is owed"):
        start(ledger, "b")


def test_an_answer_inside_another_is_a_violation() -> None:
    ledger = make()
    two_requests(ledger)
    start(ledger, "a")
    with pytest.raises(Violation):
        start(ledger, "b")


def test_a_second_answer_is_a_violation() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    start(ledger, "a")
    complete(ledger, "a")
    with pytest.raises(Violation):
        error(ledger, "a", "busy")


def test_audio_of_nobody_is_a_violation() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    with pytest.raises(Violation):
        ledger.received(b"\0\0")


def test_audio_after_the_end_is_a_violation() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    start(ledger, "a")
    say(ledger, type="cancel")
    cancelled(ledger, "a", "", "One.")
    with pytest.raises(Violation):
        ledger.received(b"\0\0")


@pytest.mark.parametrize("frame", [b"", b"\0", b'{"a": 1}'], ids=["empty", "half a sample", "an object"])
def test_audio_that_is_none_is_a_violation(frame: bytes) -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    start(ledger, "a")
    with pytest.raises(Violation):
        ledger.received(frame)


def test_bytes_that_the_end_does_not_know_are_a_violation() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    start(ledger, "a")
    ledger.received(b"\0\0")
    with pytest.raises(Violation, match="2 bytes of audio came, and the end says 4"):
        complete(ledger, "a", 4)


def test_an_answer_that_never_comes_is_a_violation() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    with pytest.raises(Violation, match="never came"):
        ledger.require_quiet()
    assert not ledger.is_quiet


def test_nothing_is_cancelled_that_nobody_cancelled() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    with pytest.raises(Violation):
        cancelled(ledger, "a", "", "One.")


def test_what_was_cancelled_has_its_whole_text() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    say(ledger, type="cancel", request_id="a")
    with pytest.raises(Violation):
        cancelled(ledger, "a", "", "On")


def test_a_barge_in_into_what_was_heard_is_told_once() -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    start(ledger, "a")
    complete(ledger, "a")
    say(ledger, type="cancel", played_s=0.1)
    cancelled(ledger, "a", "", "One.")
    with pytest.raises(Violation):
        cancelled(ledger, "a", "", "One.")


@pytest.mark.parametrize(("message", "code"), [("{", "invalid_json"), ('{"type": "zzz"}', "unknown_type")])
def test_a_malformed_message_gets_its_own_error_in_its_place(message: str, code: str) -> None:
    ledger = make()
    say(ledger, text="One.", request_id="a")
    ledger.sent(message)
    with pytest.raises(Violation):
        error(ledger, None, code)
    start(ledger, "a")
    complete(ledger, "a")
    with pytest.raises(Violation):
        error(ledger, None, "text_empty")
    error(ledger, None, code)
    ledger.require_quiet()


def test_past_its_limit_a_session_is_refused_out_of_turn() -> None:
    ledger = make()
    two_requests(ledger)
    with pytest.raises(Violation):
        error(ledger, "b", "busy")
    say(ledger, text="Three.", request_id="c")
    error(ledger, "c", "busy")
    assert [entry.name for entry in ledger.owed] == ["a", "b"]


def test_a_busy_that_may_be_about_either_of_two_is_understood_by_what_follows() -> None:
    ledger = make()
    two_requests(ledger)
    say(ledger, text="Three.", request_id="a")
    error(ledger, "a", "busy")
    start(ledger, "a")
    complete(ledger, "a")
    start(ledger, "b")
    complete(ledger, "b")
    ledger.require_quiet()


def test_a_context_is_complete_only_after_its_flush() -> None:
    ledger = make()
    say(ledger, type="text", context_id="c", delta="One.")
    start(ledger, "c")
    with pytest.raises(Violation):
        complete(ledger, "c")
    say(ledger, type="text", context_id="c", flush=True)
    complete(ledger, "c")


def test_text_for_a_context_that_was_cancelled_may_be_told_once() -> None:
    ledger = make()
    say(ledger, type="text", context_id="c", delta="One. Tw")
    say(ledger, type="cancel", context_id="c")
    cancelled(ledger, "c", "", "One. Tw")
    with pytest.raises(Violation):
        error(ledger, "c", "cancelled")
    say(ledger, type="text", context_id="c", delta="o.")
    error(ledger, "c", "cancelled")
    say(ledger, type="text", context_id="c", delta="Three.")
    with pytest.raises(Violation):
        error(ledger, "c", "cancelled")


def test_after_its_flush_a_name_stands_for_another_context() -> None:
    ledger = make()
    for _ in range(2):
        say(ledger, type="text", context_id="c", delta="One.", flush=True)
    assert [entry.name for entry in ledger.owed] == ["c", "c"]


def test_word_times_increase_and_cut_the_text() -> None:
    ledger = make()
    say(ledger, text="One two.", request_id="a", timestamps=True)
    start(ledger, "a")
    words = [{"word": "One", "start_s": 0.0, "end_s": 0.1, "start_char": 0, "end_char": 4}]
    hear(ledger, type="timestamps", request_id="a", words=words)
    with pytest.raises(Violation, match="does not come after"):
        hear(ledger, type="timestamps", request_id="a", words=words)
    with pytest.raises(Violation, match="not what is owed"):
        complete(ledger, "a")


def test_close_finishes_what_is_heard_and_ends_the_session() -> None:
    ledger = make()
    two_requests(ledger)
    start(ledger, "a")
    say(ledger, type="close")
    say(ledger, text="Late.", request_id="c")
    with pytest.raises(Violation):
        cancelled(ledger, "a", "", "One.")
    complete(ledger, "a")
    with pytest.raises(Violation, match="never came"):
        hear(ledger, type="session_closed")
    cancelled(ledger, "b", "", "Two.")
    hear(ledger, type="session_closed")
    with pytest.raises(Violation, match="after session_closed"):
        error(ledger, None, "invalid_json")


def test_pongs_come_in_the_order_of_the_pings() -> None:
    ledger = make()
    say(ledger, type="ping", id="1")
    say(ledger, type="ping", id="2")
    with pytest.raises(Violation):
        hear(ledger, type="pong", id="2")
