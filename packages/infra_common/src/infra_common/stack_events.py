"""A stack's history: what is new in it, and which of its lines was the first thing to go wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

STACK_TYPE: Final = "AWS::CloudFormation::Stack"
_PAGES: Final = 10
"""Of 100 events; an operation on our largest stack makes fewer than 100."""
_FOLLOWS_FROM_OTHERS: Final = ("resource creation cancelled", "resource update cancelled")


@dataclass(frozen=True, slots=True)
class StackEvent:
    """One line."""

    event_id: str
    at: datetime
    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str

    @property
    def is_failure(self) -> bool:
        """Whether this line says what went wrong, and not what followed from it."""
        followed = any(self.reason.lower().startswith(words) for words in _FOLLOWS_FROM_OTHERS)
        return self.status.endswith("_FAILED") and self.type != STACK_TYPE and not followed


def events_since(cloudformation: Any, stack: str, last_id: str | None) -> list[StackEvent]:
    """The events after the one with `last_id`, oldest first; all of the last thousand where it is None."""
    found: list[StackEvent] = []
    pages = cloudformation.get_paginator("describe_stack_events").paginate(
        StackName=stack, PaginationConfig={"MaxItems": _PAGES * 100}
    )
    for page in pages:
        for each in page["StackEvents"]:
            if each["EventId"] == last_id:
                return found[::-1]
            found.append(
                StackEvent(
                    event_id=each["EventId"],
                    at=each["Timestamp"],
                    logical_id=each["LogicalResourceId"],
                    physical_id=each.get("PhysicalResourceId", ""),
                    type=each["ResourceType"],
                    status=each["ResourceStatus"],
                    reason=each.get("ResourceStatusReason", ""),
                )
            )
    return found[::-1]


def last_operation(events: Iterable[StackEvent]) -> list[StackEvent]:
    """From the last time somebody asked for something: the stack's own line with that reason."""
    kept: list[StackEvent] = []
    for event in events:
        is_asked = event.type == STACK_TYPE and event.reason == "User Initiated"
        if is_asked and event.status != "REVIEW_IN_PROGRESS":
            kept = []
        kept.append(event)
    return kept


def first_failure(events: Iterable[StackEvent]) -> StackEvent | None:
    """The first line that says what went wrong."""
    return next((event for event in events if event.is_failure), None)
