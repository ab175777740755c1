import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_cloud.converse_request import parse_converse
from local_cloud.errors import RequestRefused
from local_cloud.language_model import Turn

USER = {"role": "user", "content": [{"text": "Hello?"}]}
ASSISTANT = {"role": "assistant", "content": [{"text": "Hello."}]}


def parse(**request: Any) -> Any:
    return parse_converse(json.dumps(request).encode())


def test_a_conversation_is_read() -> None:
    request = parse(
        messages=[{"role": "user", "content": [{"text": "One."}, {"text": "Two."}]}, ASSISTANT, USER],
        system=[{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        inferenceConfig={"maxTokens": 100, "temperature": 0.3},
        additionalModelRequestFields={},
    )
    assert request.conversation.system == "Be brief."
    assert request.conversation.turns == (
        Turn("user", "One.\nTwo."),
        Turn("assistant", "Hello."),
        Turn("user", "Hello?"),
    )
    assert request.max_tokens == 100
    assert parse(messages=[USER]).max_tokens is None


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "at least one message"),
        ({"messages": []}, "at least one message"),
        ({"messages": [1]}, r"object at messages\.0"),
        ({"messages": [{"role": "system", "content": [{"text": "x"}]}]}, "role 'user' or 'assistant'"),
        ({"messages": [{"role": "user"}]}, r"list at messages\.0\.content"),
        ({"messages": [{"role": "user", "content": []}]}, "is empty"),
        ({"messages": [{"role": "user", "content": ["text"]}]}, "one member"),
        ({"messages": [{"role": "user", "content": [{"image": {}}]}]}, "it takes text"),
        ({"messages": [{"role": "user", "content": [{"text": " "}]}]}, "is blank"),
        ({"messages": [USER, USER]}, "must alternate"),
        ({"messages": [ASSISTANT]}, "start with a user message"),
        ({"messages": [USER, ASSISTANT]}, "prefill"),
        ({"messages": [USER], "toolConfig": {"tools": [{}]}}, "tool use"),
        ({"messages": [USER], "system": "Be brief."}, "list at system"),
        ({"messages": [USER], "inferenceConfig": []}, "object at inferenceConfig"),
        ({"messages": [USER], "inferenceConfig": {"maxTokens": 0}}, "at least 1"),
        ({"messages": [USER], "inferenceConfig": {"maxTokens": True}}, "at least 1"),
        ({"messages": [USER], "inferenceConfig": {"stopSequences": ["."]}}, "stopSequences"),
    ],
)
def test_what_bedrock_refuses_is_refused(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestRefused, match=message) as refused:
        parse(**request_)
    assert (refused.value.status, refused.value.code) == (400, "ValidationException")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused, match="JSON"):
        parse_converse(body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["messages", "role", "content", "text", "system", "maxTokens"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["messages", "system", "inferenceConfig", "toolConfig"]), _JSON))
def test_no_json_does_anything_but_parse_or_be_refused(request_: dict[str, Any]) -> None:
    with contextlib.suppress(RequestRefused):
        parse(**request_)
