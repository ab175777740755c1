"""A change set: what would be done to a stack, as it is described before anybody does it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from .stack import Stack
from .template import Template

NO_CHANGES: Final = (
    "The submitted information didn't contain changes. Submit different information to create a change set."
)


@dataclass(slots=True)
class ChangeSet:
    """What would be done to a stack."""

    name: str
    change_set_id: str
    stack: Stack
    template: Template
    given: dict[str, str]
    parameters: dict[str, Any]
    tags: dict[str, str]
    role_arn: str | None
    adopts: bool
    status: str
    reason: str | None
    execution: str
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def described(self) -> dict[str, Any]:
        """As DescribeChangeSet shows it."""
        return {
            "ChangeSetName": self.name,
            "ChangeSetId": self.change_set_id,
            "StackId": self.stack.stack_id,
            "StackName": self.stack.name,
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in self.given.items()],
            "CreationTime": self.created,
            "ExecutionStatus": self.execution,
            "Status": self.status,
            "StatusReason": self.reason,
            "NotificationARNs": [],
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
            "Changes": changes_of(self.stack, self.template),
            "ImportExistingResources": self.adopts,
        }


def changes_of(stack: Stack, template: Template) -> list[dict[str, Any]]:
    """Each resource that a template adds or alters."""
    changes = []
    for logical_id, resource in template.resources.items():
        before = stack.template.resources.get(logical_id) if stack.template else None
        if before != resource:
            action = "Add" if before is None else "Modify"
            changes.append(
                {
                    "Type": "Resource",
                    "ResourceChange": {
                        "Action": action,
                        "LogicalResourceId": logical_id,
                        "ResourceType": resource["Type"],
                        "Scope": [],
                        "Details": [],
                    },
                }
            )
    return changes
