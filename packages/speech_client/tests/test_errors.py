import inspect

import pytest
from speech_client import ErrorEvent, SpeechError, SpeechRefusedError, SpeechRequestError, SpeechTimeoutError, errors

CLASSES = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, SpeechError)]


def test_every_exception_is_in_the_tree_that_the_module_draws() -> None:
    assert len(CLASSES) > 10
    for cls in CLASSES:
        assert cls.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if "__init__" not in vars(cls)])
def test_exceptions_say_whether_the_same_call_may_succeed_later(cls: type[SpeechError]) -> None:
    assert f"{cls.__name__}" in (errors.__doc__ or "")
    line = next(
        line for line in (errors.__doc__ or "").splitlines() if f"─ {cls.__name__} " in line or cls is SpeechError
    )
    assert cls.retryable is ("(retryable)" in line)


def test_a_request_error_carries_the_servers_code_and_advice() -> None:
    error = SpeechRequestError.of(ErrorEvent("r", "busy", "come back", retryable=True, retry_after_s=0.5))
    assert str(error) == "busy: come back"
    assert (error.retryable, error.retry_after_s, error.request_id) == (True, 0.5, "r")
    assert SpeechRequestError("text_empty", "…", retryable=False).retryable is False


def test_a_refusal_says_for_itself_whether_to_try_again() -> None:
    assert SpeechRefusedError("busy", "…", retryable=True).retryable is True
    assert SpeechRefusedError("404", "…").retryable is False


def test_a_missed_deadline_can_be_caught_as_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        raise SpeechTimeoutError("answer", 1, "…")
