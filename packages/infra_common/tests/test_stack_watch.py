"""Waiting for CloudFormation: what it says is passed on once, and the wait has an end."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from infra_common.errors import StillGoing
from infra_common.stack_watch import POLL_S, StackWatch

AT = datetime(2026, 11, 29, tzinfo=UTC)


class Unknown(Exception):
    response = {"Error": {"Code": "ValidationError"}}  # noqa: RUF012 - as botocore's


class Stacks:
    """A stack that goes through statuses, one a look; None is gone. Each look adds an event."""

    exceptions = type("exceptions", (), {"ClientError": Unknown})

    def __init__(self, *statuses: str | None) -> None:
        self._statuses = list(statuses)
        self._events: list[dict[str, Any]] = []

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - AWS's name
        status = self._statuses[0]
        if status is None:
            raise Unknown(f"Stack with id {StackName} does not exist")
        return {"Stacks": [{"StackName": "voice", "StackId": "arn:voice", "StackStatus": status}]}

    def get_paginator(self, name: str) -> "Stacks":
        assert name == "describe_stack_events"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        del asked
        yield {"StackEvents": self._events[::-1]}

    def next(self, resource: str) -> None:
        """The next status, with an event of a resource."""
        if len(self._statuses) > 1:
            self._statuses.pop(0)
        self._events.append(
            {
                "EventId": str(len(self._events)),
                "Timestamp": AT,
                "LogicalResourceId": resource,
                "ResourceType": "AWS::S3::Bucket",
                "ResourceStatus": "CREATE_COMPLETE",
            }
        )


class Clock:
    """Goes on only where somebody pauses."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        self._stacks.next(f"Bucket{self.now_s:g}")


def watch(stacks: Stacks) -> tuple[StackWatch, Clock]:
    clock = Clock(stacks)
    return StackWatch(stacks, "voice", clock=clock, pause=clock.pause), clock


def test_it_waits_until_nothing_goes_on_and_says_each_event_once() -> None:
    stacks = Stacks("CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    watched, clock = watch(stacks)
    said: list[str] = []
    state = watched.settled(said.append)
    assert state is not None
    assert state.status == "CREATE_COMPLETE"
    assert said == ["Bucket3 (S3::Bucket): create complete", "Bucket6 (S3::Bucket): create complete"]
    assert clock.now_s == 2 * POLL_S
    assert [each.logical_id for each in watched.seen] == ["Bucket3", "Bucket6"]


def test_what_was_there_before_is_not_said() -> None:
    stacks = Stacks("CREATE_COMPLETE")
    stacks.next("Before")
    watched, _ = watch(stacks)
    assert watched.look() == []


def test_a_stack_that_goes_is_gone() -> None:
    stacks = Stacks("DELETE_IN_PROGRESS", None)
    watched, _ = watch(stacks)
    assert watched.settled(lambda _said: None) is None


def test_a_wait_has_an_end_and_says_that_aws_goes_on() -> None:
    watched, clock = watch(Stacks("UPDATE_IN_PROGRESS"))
    with pytest.raises(StillGoing, match="still in UPDATE_IN_PROGRESS after 2 minutes; CloudFormation goes on"):
        watched.settled(lambda _said: None, limit_s=120)
    assert 120 < clock.now_s <= 120 + 2 * POLL_S
