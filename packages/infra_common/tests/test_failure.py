"""From events to one paragraph and one command."""

from datetime import UTC, datetime

import pytest
from infra_common.failure import COMMON_CAUSES, explain, plain_line, plain_reason
from infra_common.stack_events import STACK_TYPE, StackEvent, first_failure, last_operation

AT = datetime(2026, 11, 29, tzinfo=UTC)


def event(status: str, reason: str = "", kind: str = "AWS::S3::Bucket", name: str = "Weights") -> StackEvent:
    return StackEvent(f"{name}-{status}-{reason}", AT, name, "", kind, status, reason)


BEGUN = event("UPDATE_IN_PROGRESS", "User Initiated", STACK_TYPE, "stack")
CANCELLED = event("CREATE_FAILED", "Resource creation cancelled", name="Other")
FAILED = event("CREATE_FAILED", "weights already exists in stack x")


def test_what_followed_from_a_failure_is_not_taken_for_its_cause() -> None:
    assert first_failure([BEGUN, CANCELLED, FAILED]) == FAILED


def test_only_the_last_operation_counts() -> None:
    assert last_operation([BEGUN, FAILED, BEGUN, CANCELLED]) == [BEGUN, CANCELLED]


def test_a_known_cause_brings_its_meaning_and_its_command() -> None:
    found = explain([BEGUN, FAILED], COMMON_CAUSES, lambda _event: ["one", " two "], "deploy again")
    assert found.paragraph == (
        "S3 Bucket Weights failed: weights already exists in stack x. That means something with that name is there "
        "already and was not made by this stack. Its last log lines: one | two"
    )
    assert found.command.startswith("give this deployment another --stage")


def test_an_unknown_cause_is_told_as_it_came_and_the_command_is_to_try_again() -> None:
    odd = event("CREATE_FAILED", "the moon was full")
    assert explain([odd], COMMON_CAUSES, lambda _event: [], "deploy again").command == "deploy again"


def test_a_failure_without_an_event_says_so() -> None:
    assert explain([BEGUN], COMMON_CAUSES, lambda _event: [], "again").paragraph == "CloudFormation gives no reason."


def test_the_reason_is_taken_out_of_its_wrapping() -> None:
    wrapped = 'Resource handler returned message: "no ping" (HandlerErrorCode: NotStabilized)'
    assert plain_reason(wrapped) == "no ping"
    assert plain_reason("as it is") == "as it is"


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        (
            '{"time": "x", "level": "error", "code": "no_voice", "message": "not ready: no voice"}',
            "error no_voice: not ready: no voice",
        ),
        ('{"level": "info", "message": " loading "}', "info: loading"),
        ('{"message": "loading"}', "loading"),
        (" as it is\n", "as it is"),
        ('{"level": "error"}', '{"level": "error"}'),
        ("[1]", "[1]"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_log_line_in_json_is_told_by_its_level_its_code_and_its_message(line: str, plain: str) -> None:
    assert plain_line(line) == plain


def test_the_file_at_fault_is_within_what_is_told_of_a_line() -> None:
    wordy = '{"time": "2026-11-29", "logger": "' + "x" * 300 + '", "message": "af_heart.bin is not what it was"}'
    failed = event("CREATE_FAILED", "no ping")
    assert explain([failed], (), lambda _event: [wordy], "again").log_lines == ("af_heart.bin is not what it was",)
