from typing import Any

import pytest
from agent_runtime.errors import AgentErrorCode, RequestError
from agent_runtime.request import AgentRequest, describe, parse_request
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


def test_the_voice_speaks_pcm_whatever_the_caller_gets() -> None:
    options = parse_request({"prompt": "Hi", "format": "wav", "voice": "x", "speed": 0.5}).voice_options
    assert (options.format, options.voice, options.speed) == ("pcm", "x", 0.5)


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
        ({"prompt": "Hi", "format": "mp3"}, "format_unsupported"),
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
