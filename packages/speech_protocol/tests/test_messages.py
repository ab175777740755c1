"""Client messages: what is understood, what is refused, and with which code."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from speech_protocol import (
    AUDIO_FORMATS,
    SAMPLE_RATES_HZ,
    Cancel,
    ClientMessage,
    Close,
    ErrorCode,
    Hello,
    MessageError,
    Ping,
    Synthesize,
    Text,
    VoiceOptions,
    parse_message,
    render_message,
)

identifiers = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=128)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)
spoken = texts.filter(str.strip)
options = st.builds(
    VoiceOptions,
    voice=texts,
    speed=st.floats(0.5, 2.0),
    language=st.none() | identifiers,
    format=st.sampled_from(AUDIO_FORMATS),
    sample_rate=st.sampled_from(SAMPLE_RATES_HZ),
    timestamps=st.booleans(),
    latency=st.sampled_from([None, "exact", "low"]),
    lexicon=st.dictionaries(texts, texts, max_size=3),
)
times = st.none() | st.floats(0, 1e12)
messages = (
    st.builds(Synthesize, spoken, options, st.none() | identifiers, times)
    | st.builds(Text, identifiers, st.just("") | texts, st.booleans(), options, st.booleans())
    | st.builds(Cancel, st.none() | identifiers, st.none() | identifiers, times)
    | st.builds(Ping, st.none() | identifiers)
    | st.sampled_from([Hello(), Close()])
)


def refused(message: Any, **limits: int) -> MessageError:
    data = message if isinstance(message, str | bytes) else json.dumps(message)
    with pytest.raises(MessageError) as caught:
        parse_message(data, **limits)
    return caught.value


@given(messages)
def test_every_message_survives_rendering_and_parsing_in_both_kinds_of_frame(message: ClientMessage) -> None:
    rendered = render_message(message)
    assert parse_message(rendered) == message
    assert parse_message(rendered.encode()) == message


@given(st.binary() | st.text())
@example(b"[" * 100_000)
@example(b'{"type":"ping","id":"\\ud800"}')
@example("\ud800")
def test_no_frame_raises_anything_but_a_message_error(data: bytes | str) -> None:
    with contextlib.suppress(MessageError):
        parse_message(data)


@given(
    st.dictionaries(
        st.sampled_from(["type", "text", "voice", "speed", "format", "lexicon", "request_id"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.lists(st.integers(), max_size=2),
    )
)
def test_no_object_raises_anything_but_a_message_error(fields: dict[str, Any]) -> None:
    with contextlib.suppress(MessageError):
        parse_message(json.dumps(fields))


def test_a_text_alone_is_a_synthesize_message_with_defaults() -> None:
    assert parse_message('{"text": "Hello."}') == Synthesize("Hello.", VoiceOptions())
    assert parse_message(b'{"type": "synthesize", "text": "Hello."}') == Synthesize("Hello.", VoiceOptions())


def test_unknown_fields_and_nulls_are_passed_over() -> None:
    assert parse_message('{"text": "Hi.", "voice": null, "mood": "sunny"}') == Synthesize("Hi.")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('{"text": "a"', ErrorCode.INVALID_JSON),
        (b"\xff\xfe", ErrorCode.INVALID_JSON),
        (b"{" * (1 << 20), ErrorCode.INVALID_JSON),
        (b"[" * (1 << 20), ErrorCode.INVALID_JSON),
        ("", ErrorCode.INVALID_JSON),
        ('{"text": NaN}', ErrorCode.INVALID_JSON),
        ("[]", ErrorCode.INVALID_MESSAGE),
        ('"x"', ErrorCode.INVALID_MESSAGE),
        ("{}", ErrorCode.INVALID_MESSAGE),
        ('{"type": null}', ErrorCode.INVALID_MESSAGE),
        ('{"type": 7}', ErrorCode.INVALID_MESSAGE),
        ('{"type": "zzz"}', ErrorCode.UNKNOWN_TYPE),
    ],
)
def test_a_malformed_message_has_its_own_code(message: bytes | str, code: ErrorCode) -> None:
    assert refused(message).code is code


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"text": None, "type": "synthesize"}, ErrorCode.INVALID_MESSAGE, "missing"),
        ({"text": 5}, ErrorCode.INVALID_MESSAGE, "is a string; 5 came"),
        ({"text": " \n\t"}, ErrorCode.TEXT_EMPTY, "no text"),
        ({"text": "\ud800"}, ErrorCode.INVALID_MESSAGE, "surrogate"),
        ({"voice": ""}, ErrorCode.VOICE_UNKNOWN, "1 to 256"),
        ({"voice": "v" * 257}, ErrorCode.VOICE_UNKNOWN, "257 came"),
        ({"voice": ["af"]}, ErrorCode.INVALID_MESSAGE, "is a string"),
        ({"speed": 0.49}, ErrorCode.SPEED_OUT_OF_RANGE, "0.5 to 2.0; 0.49 came"),
        ({"speed": 2.01}, ErrorCode.SPEED_OUT_OF_RANGE, "2.01 came"),
        ({"speed": True}, ErrorCode.INVALID_MESSAGE, "is a number"),
        ({"speed": "1"}, ErrorCode.INVALID_MESSAGE, "is a number"),
        ({"speed": 10**400}, ErrorCode.INVALID_MESSAGE, "finite"),
        ({"format": "flac"}, ErrorCode.FORMAT_UNSUPPORTED, "pcm, wav"),
        ({"sample_rate": 44100}, ErrorCode.SAMPLE_RATE_UNSUPPORTED, "44100 came"),
        ({"sample_rate": 24000.5}, ErrorCode.SAMPLE_RATE_UNSUPPORTED, "24000.5 came"),
        ({"timestamps": 1}, ErrorCode.INVALID_MESSAGE, "true or false"),
        ({"latency": "high"}, ErrorCode.INVALID_MESSAGE, '"exact" or "low"'),
        ({"lexicon": []}, ErrorCode.INVALID_MESSAGE, "values are strings"),
        ({"lexicon": {"a": 1}}, ErrorCode.INVALID_MESSAGE, "values are strings"),
        ({"lexicon": {"": "a"}}, ErrorCode.INVALID_MESSAGE, "at most 128"),
        ({"lexicon": {"a": "x" * 129}}, ErrorCode.INVALID_MESSAGE, "at most 128"),
        ({"lexicon": {"a": "\ud800"}}, ErrorCode.INVALID_MESSAGE, "surrogate"),
        ({"lexicon": {str(n): "a" for n in range(1001)}}, ErrorCode.INVALID_MESSAGE, "1001 came"),
        ({"request_id": ""}, ErrorCode.INVALID_MESSAGE, "1 to 128"),
        ({"request_id": "r" * 129}, ErrorCode.INVALID_MESSAGE, "129 came"),
        ({"request_timestamp": "now"}, ErrorCode.INVALID_MESSAGE, "is a number"),
        ({"type": "text", "delta": "a"}, ErrorCode.INVALID_MESSAGE, "context_id"),
        ({"type": "text", "context_id": "c", "delta": 1}, ErrorCode.INVALID_MESSAGE, "is a string"),
        ({"type": "cancel", "played_s": -1}, ErrorCode.INVALID_MESSAGE, "from 0"),
        ({"type": "ping", "id": 3}, ErrorCode.INVALID_MESSAGE, "is a string"),
    ],
)
def test_a_wrong_field_is_named_with_what_came(fields: dict[str, Any], code: ErrorCode, says: str) -> None:
    error = refused({"text": "Hello."} | fields)
    assert error.code is code
    assert says in error.message


def test_a_refusal_names_the_request_it_is_about() -> None:
    assert refused({"text": "Hi.", "speed": 9, "request_id": "r1"}).request_id == "r1"
    assert refused({"text": "Hi.", "request_id": "r" * 200}).request_id is None
    assert refused({"text": "Hi.", "request_id": 7}).request_id is None


def test_long_text_is_refused_by_the_servers_own_limit() -> None:
    assert refused({"text": "a" * 11}, max_text_chars=10).code is ErrorCode.TEXT_TOO_LONG
    assert (
        refused({"type": "text", "context_id": "c", "delta": "a" * 11}, max_text_chars=10).code
        is ErrorCode.TEXT_TOO_LONG
    )
    assert parse_message(json.dumps({"text": "a" * 10}), max_text_chars=10) == Synthesize("a" * 10)


def test_a_refusal_never_repeats_much_of_what_came() -> None:
    assert len(refused({"text": ["x" * 10_000]}).message) < 100


def test_which_codes_are_worth_a_retry() -> None:
    retryable = {code.value for code in ErrorCode if code.retryable}
    assert retryable == {"busy", "rate_limited", "synthesis_failed", "shutting_down"}


def test_http_statuses_follow_the_contract() -> None:
    assert ErrorCode.INVALID_JSON.http_status == 400
    assert ErrorCode.REQUEST_STALE.http_status == 408
    assert ErrorCode.TEXT_TOO_LONG.http_status == 413
    assert ErrorCode.BUSY.http_status == 503


@pytest.mark.parametrize("fault", [{"delta": 5}, {"speed": 9}, {"flush": "yes"}, {"delta": "x" * 11}])
def test_a_faulty_text_message_names_its_context(fault: dict[str, Any]) -> None:
    error = refused({"type": "text", "context_id": "c", "request_id": "other", **fault}, max_text_chars=10)
    assert (error.request_id, error.context_id) == ("c", "c")


def test_only_a_text_message_has_a_context() -> None:
    error = refused({"type": "synthesize", "context_id": "c", "request_id": "r"})
    assert (error.request_id, error.context_id) == ("r", None)
    assert refused({"type": "text", "context_id": "", "delta": "Hi."}).context_id is None
