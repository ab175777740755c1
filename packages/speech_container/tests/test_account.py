"""What requests come to."""

import pytest
from speech_container.account import outcome_of
from speech_protocol import ErrorCode


@pytest.mark.parametrize("code", list(ErrorCode))
def test_only_what_the_client_can_do_nothing_about_is_a_failure(code: ErrorCode) -> None:
    is_failure = code in (ErrorCode.SYNTHESIS_FAILED, ErrorCode.SHUTTING_DOWN)
    assert outcome_of(code.value) == ("failed" if is_failure else "refused")
