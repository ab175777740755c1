"""The body of POST /invocations."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_protocol import ErrorCode, Invocation, MessageError, Synthesize, VoiceOptions, parse_invocation


def parse(fields: dict[str, Any], **options: Any) -> Invocation:
    return parse_invocation(json.dumps(fields).encode(), **options)


def test_a_text_is_answered_as_a_streamed_wav() -> None:
    assert parse({"text": "Hi."}) == Invocation(Synthesize("Hi.", VoiceOptions(format="wav")), stream=True)


def test_the_openai_body_is_understood() -> None:
    body = {"model": "kokoro", "input": "Hi.", "voice": "am_adam", "response_format": "mp3", "speed": 1.5}
    assert parse(body).synthesize == Synthesize("Hi.", VoiceOptions(voice="am_adam", format="mp3", speed=1.5))


def test_our_names_win_over_openais() -> None:
    assert parse({"input": "theirs", "text": "ours"}).synthesize.text == "ours"
    assert parse({"text": "ours", "input": "theirs"}).synthesize.text == "ours"


def test_delivery_can_be_chosen() -> None:
    invocation = parse({"text": "Hi.", "stream": False, "transport": "sse", "format": "pcm"})
    assert (invocation.stream, invocation.transport, invocation.synthesize.options.format) == (False, "sse", "pcm")
    assert parse({"text": "Hi.", "transport": "binary"}, default_format="mp3").synthesize.options.format == "mp3"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", ErrorCode.INVALID_JSON),
        (b"[]", ErrorCode.INVALID_MESSAGE),
        (b"null", ErrorCode.INVALID_MESSAGE),
        (b"{}", ErrorCode.INVALID_MESSAGE),
        (b'{"input": ""}', ErrorCode.TEXT_EMPTY),
        (b'{"text": "Hi.", "stream": 1}', ErrorCode.INVALID_MESSAGE),
        (b'{"text": "Hi.", "transport": "pigeon"}', ErrorCode.INVALID_MESSAGE),
        (b'{"text": "Hi.", "response_format": "flac"}', ErrorCode.FORMAT_UNSUPPORTED),
    ],
)
def test_a_wrong_body_has_a_code(body: bytes, code: ErrorCode) -> None:
    with pytest.raises(MessageError) as caught:
        parse_invocation(body)
    assert caught.value.code is code


@given(st.binary())
def test_no_body_raises_anything_but_a_message_error(body: bytes) -> None:
    with contextlib.suppress(MessageError):
        parse_invocation(body)
