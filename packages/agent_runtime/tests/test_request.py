import json
from typing import Any

import pytest
from agent_runtime.errors import AgentErrorCode, RequestError
from agent_runtime.request import AgentRequest, Interruption, describe, parse_message, parse_request
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_a_prompt_is_enough() -> None:
    assert parse_request({"prompt": "Hi"}) == AgentRequest("Hi", "bidi", "af_heart", 1.0, "pcm")


def test_all_choices_are_read() -> None:
    payload = {"prompt": "Hi", "mode": "batch", "voice": "bm_george", "speed": 2, "format": "wav"}
    assert parse_request(payload) == AgentRequest("Hi", "batch", "bm_george", 2.0, "wav")


@pytest.mark.parametrize(
    ("asked", "spoken"), [("pcm", "pcm"), ("wav", "pcm"), ("mp3", "mp3"), ("opus", "opus"), ("aac", "aac")]
)
def test_the_voice_is_asked_for_the_caller_s_format_and_word_times(asked: str, spoken: str) -> None:
    options = parse_request({"prompt": "Hi", "format": asked, "voice": "x", "speed": 0.5}).voice_options
    assert (options.format, options.voice, options.speed, options.timestamps) == (spoken, "x", 0.5, True)


@pytest.mark.parametrize("name", ["endpoint", "endpoint_name", "SPEECH_ENDPOINT_NAME", "region", "role", "model_id"])
def test_a_payload_cannot_name_infrastructure(name: str) -> None:
    assert parse_request({"prompt": "Hi", name: "theirs"}) == parse_request({"prompt": "Hi"})


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ("Hi", AgentErrorCode.INVALID_REQUEST),
        ([], AgentErrorCode.INVALID_REQUEST),
        (None, AgentErrorCode.INVALID_REQUEST),
        ({}, AgentErrorCode.INVALID_REQUEST),
        ({"prompt": 7}, AgentErrorCode.INVALID_REQUEST),
        ({"prompt": "half \ud800"}, AgentErrorCode.INVALID_REQUEST),
        ({"prompt": ""}, AgentErrorCode.PROMPT_EMPTY),
        ({"prompt": " \n"}, AgentErrorCode.PROMPT_EMPTY),
        ({"prompt": "x" * 10_001}, AgentErrorCode.PROMPT_TOO_LONG),
        ({"prompt": "Hi", "mode": "fast"}, AgentErrorCode.MODE_UNKNOWN),
        ({"prompt": "Hi", "mode": 1}, AgentErrorCode.INVALID_REQUEST),
        ({"prompt": "Hi", "voice": ""}, "voice_unknown"),
        ({"prompt": "Hi", "voice": "v" * 257}, "voice_unknown"),
        ({"prompt": "Hi", "speed": 0.4}, "speed_out_of_range"),
        ({"prompt": "Hi", "speed": "1"}, AgentErrorCode.INVALID_REQUEST),
        ({"prompt": "Hi", "speed": float("nan")}, AgentErrorCode.INVALID_REQUEST),
        ({"prompt": "Hi", "format": "flac"}, "format_unsupported"),
    ],
)
def test_what_is_wrong_has_a_stable_code(payload: Any, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_request(payload)
    assert caught.value.code == code


def test_a_prompt_as_long_as_allowed_is_taken() -> None:
    assert parse_request({"prompt": "x" * 5}, max_prompt_chars=5).prompt == "xxxxx"


@given(st.dictionaries(st.sampled_from(["prompt", "mode", "voice", "speed", "format", "region"]), JSON) | JSON)
def test_any_payload_is_a_request_or_a_request_error(payload: Any) -> None:
    try:
        request = parse_request(payload)
    except RequestError as error:
        told = (error.code, error.message)
    else:
        told = (request.prompt, request.mode)
    assert all(told)


def test_a_request_is_described_without_its_text() -> None:
    described = describe(AgentRequest("my secret"))
    assert described["prompt_chars"] == len("my secret")
    assert "secret" not in str(described)


# On a WebSocket


@pytest.mark.parametrize(
    "data", ['{"prompt": "Hi", "voice": "x"}', b'{"type": "prompt", "prompt": "Hi", "voice": "x"}']
)
def test_a_prompt_is_a_request_in_both_kinds_of_frame(data: str | bytes) -> None:
    assert parse_message(data) == AgentRequest("Hi", voice="x")


@pytest.mark.parametrize(
    ("data", "interruption"),
    [
        ('{"type": "cancel"}', Interruption()),
        ('{"type": "cancel", "played_s": 1}', Interruption(1.0)),
        ('{"type": "cancel", "played_s": 0.25, "request_id": "turn-1"}', Interruption(0.25, "turn-1")),
    ],
)
def test_a_cancel_may_say_what_was_heard_and_of_which_answer(data: str, interruption: Interruption) -> None:
    assert parse_message(data) == interruption


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("{", AgentErrorCode.INVALID_JSON),
        (b"\xff", AgentErrorCode.INVALID_JSON),
        ("[]", AgentErrorCode.INVALID_JSON),
        ("{}", AgentErrorCode.INVALID_REQUEST),
        ('{"type": 7}', AgentErrorCode.UNKNOWN_TYPE),
        ('{"type": "sing"}', AgentErrorCode.UNKNOWN_TYPE),
        ('{"type": "prompt"}', AgentErrorCode.INVALID_REQUEST),
        ('{"prompt": " "}', AgentErrorCode.PROMPT_EMPTY),
        ('{"type": "cancel", "played_s": -1}', AgentErrorCode.INVALID_REQUEST),
        ('{"type": "cancel", "played_s": "1"}', AgentErrorCode.INVALID_REQUEST),
        ('{"type": "cancel", "request_id": ""}', AgentErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_wrong_with_a_message_has_a_stable_code(data: str | bytes, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_message(data)
    assert caught.value.code == code


@given(st.binary() | st.text() | st.dictionaries(st.sampled_from(["type", "prompt", "played_s"]), JSON).map(json.dumps))
def test_any_message_is_one_or_a_request_error(data: str | bytes) -> None:
    try:
        understood = parse_message(data) is not None
    except RequestError as error:
        understood = bool(error.code and error.message)
    assert understood
