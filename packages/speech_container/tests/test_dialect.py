"""Our own HTTP words; test_invocations has them on the wire."""

from speech_container.dialect import InvocationsDialect
from speech_protocol import ErrorCode, ErrorEvent, SynthesisStart


def test_an_error_has_its_code_its_sentence_and_its_request() -> None:
    event = ErrorEvent.of(ErrorCode.BUSY, "try again later", "r", 2.0)
    dialect = InvocationsDialect()
    assert dialect.error(event) == {"error": {"code": "busy", "message": "try again later", "request_id": "r"}}
    assert dialect.failed(event) == {"type": "error", "code": "busy", "message": "try again later", "request_id": "r"}


def test_a_start_says_what_is_sent() -> None:
    assert InvocationsDialect().started(SynthesisStart("r", "pcm", 24000, "af_heart")) == {
        "type": "audio_stream_start",
        "request_id": "r",
        "format": "pcm",
        "sample_rate": 24000,
        "voice": "af_heart",
    }
