"""What CloudFormation says a stack is, and what that allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from infra_common.aws_errors import code_of
from infra_common.ownership import tag_map

Standing = Literal["steady", "busy", "unborn", "stuck", "undead"]
"""steady: may be changed. busy: wait. unborn: never came to be, must go first. stuck: a rollback failed, must be
continued. undead: a deletion failed, must be tried again."""

_UNBORN: Final = frozenset({"REVIEW_IN_PROGRESS", "CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})


@dataclass(frozen=True, slots=True)
class StackState:
    """One stack."""

    name: str
    stack_id: str
    status: str
    reason: str
    outputs: dict[str, str]
    tags: dict[str, str]

    @property
    def standing(self) -> Standing:
        """What may be done with it."""
        if self.status in _UNBORN:
            return "unborn"
        if self.status.endswith("_IN_PROGRESS"):
            return "busy"
        if self.status == "DELETE_FAILED":
            return "undead"
        if self.status in {"UPDATE_ROLLBACK_FAILED", "UPDATE_FAILED"}:
            return "stuck"
        return "steady"

    @property
    def is_good(self) -> bool:
        """Whether its last operation did what it was asked to."""
        return self.status in {"CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"}


def describe_stack(cloudformation: Any, name: str) -> StackState | None:
    """The stack of that name or id, or None. Raises what botocore raises."""
    try:
        found = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except cloudformation.exceptions.ClientError as error:
        if code_of(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    if found["StackStatus"] == "DELETE_COMPLETE":
        return None
    return StackState(
        name=found["StackName"],
        stack_id=found["StackId"],
        status=found["StackStatus"],
        reason=found.get("StackStatusReason", ""),
        outputs={each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])},
        tags=tag_map(found.get("Tags", [])),
    )
