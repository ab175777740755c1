"""Server events: rendered, read back, and refused when a server breaks the contract."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_protocol import (
    Audio,
    Capabilities,
    ErrorCode,
    ErrorEvent,
    EventError,
    KnownEvent,
    Pong,
    SessionClosed,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Timestamps,
    UnknownEvent,
    WordTime,
    classify,
    parse_event,
    read_frame,
    render_event,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
floats = st.floats(0, 1e6)
words = st.builds(WordTime, texts, floats, floats, st.integers(0, 1000), st.integers(0, 1000))
strings = st.lists(texts, max_size=3).map(tuple)
events = (
    st.builds(SynthesisStart, texts, texts, st.integers(), texts)
    | st.builds(Timestamps, texts, st.lists(words, max_size=3).map(tuple))
    | st.builds(SynthesisComplete, texts, floats, floats, floats, floats, st.integers())
    | st.builds(SynthesisCancelled, texts, texts, texts, floats)
    | st.builds(ErrorEvent, st.none() | texts, texts, texts, st.booleans(), st.none() | floats)
    | st.builds(
        Capabilities,
        texts,
        texts,
        strings,
        strings,
        strings,
        st.just((24000,)),
        st.booleans(),
        strings,
        st.dictionaries(texts, floats),
    )
    | st.builds(Pong, st.none() | texts)
    | st.just(SessionClosed())
)


@given(events)
def test_every_event_survives_the_wire_as_text_and_as_binary(event: KnownEvent) -> None:
    assert read_frame(classify(render_event(event))) == event
    assert read_frame(classify(render_event(event).encode())) == event


def test_audio_passes_through() -> None:
    assert read_frame(classify(b"\x01\x02")) == Audio(b"\x01\x02")


def test_an_error_without_a_request_says_null() -> None:
    fields = json.loads(render_event(ErrorEvent.of(ErrorCode.INVALID_JSON, "not JSON")))
    assert fields == {
        "type": "error",
        "request_id": None,
        "code": "invalid_json",
        "message": "not JSON",
        "retryable": False,
    }


def test_an_error_may_say_when_to_come_back() -> None:
    event = ErrorEvent.of(ErrorCode.BUSY, "try later", "r1", retry_after_s=1.5)
    assert event.retryable
    assert json.loads(render_event(event))["retry_after_s"] == 1.5


def test_a_newer_servers_events_and_fields_are_passed_over() -> None:
    assert parse_event({"type": "mood", "value": 3}) == UnknownEvent("mood", {"type": "mood", "value": 3})
    assert parse_event({"type": "pong", "id": "p", "extra": []}) == Pong("p")


def test_an_error_from_a_terser_server_is_not_retryable() -> None:
    assert parse_event({"type": "error", "code": "busy", "message": "later"}) == ErrorEvent(None, "busy", "later")


def test_whole_numbers_serve_as_seconds() -> None:
    event = parse_event(
        {"type": "synthesis_cancelled", "request_id": "r", "text_spoken": "", "text_remaining": "", "audio_s": 2}
    )
    assert event == SynthesisCancelled("r", "", "", 2.0)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, 'string "type"'),
        ({"type": 1}, 'string "type"'),
        ({"type": "synthesis_start"}, "lacks request_id"),
        ({"type": "synthesis_start", "request_id": 1}, "request_id is of type str; int came"),
        ({"type": "synthesis_start", "request_id": "r", "format": "pcm", "sample_rate": True}, "a boolean came"),
        (
            {
                "type": "synthesis_cancelled",
                "request_id": "r",
                "text_spoken": "",
                "text_remaining": "",
                "audio_s": True,
            },
            "bool came",
        ),
        ({"type": "timestamps", "request_id": "r", "words": {}}, "words is of type list"),
        ({"type": "timestamps", "request_id": "r", "words": [3]}, "words is of type dict"),
        ({"type": "timestamps", "request_id": "r", "words": [{}]}, "lacks word"),
    ],
)
def test_a_broken_event_is_an_error_that_names_the_field(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(EventError, match=says):
        parse_event(fields)


def test_a_text_frame_without_an_object_breaks_the_contract() -> None:
    with pytest.raises(EventError, match="5 bytes holds no JSON object"):
        read_frame(classify("hello"))
