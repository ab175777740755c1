"""The exception tree has one root."""

import pytest
from speech_protocol import EventError, FragmentError, MessageError, ProtocolError


@pytest.mark.parametrize("kind", [EventError, FragmentError, MessageError])
def test_every_exception_is_a_protocol_error(kind: type[Exception]) -> None:
    assert issubclass(kind, ProtocolError)
