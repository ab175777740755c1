"""Which of CloudFormation's statuses allow what."""

import pytest
from infra_common.stack_recovery import needs_recovery
from infra_common.stack_state import StackState


def state(status: str) -> StackState:
    return StackState("voice", "arn", status, "", {}, {})


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        ("CREATE_COMPLETE", "steady"),
        ("UPDATE_ROLLBACK_COMPLETE", "steady"),
        ("IMPORT_ROLLBACK_COMPLETE", "steady"),
        ("UPDATE_IN_PROGRESS", "busy"),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "busy"),
        ("REVIEW_IN_PROGRESS", "unborn"),
        ("ROLLBACK_COMPLETE", "unborn"),
        ("ROLLBACK_FAILED", "unborn"),
        ("UPDATE_ROLLBACK_FAILED", "stuck"),
        ("DELETE_FAILED", "undead"),
    ],
)
def test_a_status_has_one_standing(status: str, standing: str) -> None:
    assert state(status).standing == standing
    assert bool(needs_recovery(state(status))) == (standing != "steady")


def test_a_stack_that_was_rolled_back_is_steady_but_not_good() -> None:
    assert not state("UPDATE_ROLLBACK_COMPLETE").is_good
    assert state("UPDATE_COMPLETE").is_good


def test_a_stack_that_is_not_there_needs_nothing() -> None:
    assert needs_recovery(None) == ""
