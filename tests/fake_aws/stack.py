"""What CloudFormation remembers of a stack: its resources as they were made, and every event."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from .intrinsics import Scope, evaluate
from .template import RETAINED, Template


@dataclass(frozen=True, slots=True)
class Made:
    """A resource that exists: what `Ref` and `Fn::GetAtt` give."""

    physical_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a stack, with the properties it was made with."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]
    made: Made
    status: str
    is_retained: bool = False

    def described(self) -> dict[str, Any]:
        """As in a list of a stack's resources."""
        return {
            "LogicalResourceId": self.logical_id,
            "PhysicalResourceId": self.made.physical_id,
            "ResourceType": self.type,
            "ResourceStatus": self.status,
            "Timestamp": datetime.now(UTC),
            "LastUpdatedTimestamp": datetime.now(UTC),
        }


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a stack's history."""

    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str
    event_id: str
    at: datetime


@dataclass(slots=True)
class Stack:
    """A stack. Changed by the engine alone."""

    name: str
    stack_id: str
    region: str
    account: str
    status: str
    template: Template | None = None
    given_parameters: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    role_arn: str | None = None
    resources: dict[str, Resource] = field(default_factory=dict)
    outputs: list[dict[str, str]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    status_reason: str | None = None
    description: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated: datetime | None = None
    deleted: datetime | None = None
    is_protected: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether an operation is going on."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    def become(self, status: str, reason: str = "") -> None:
        """A new status of the stack itself, with its event."""
        self.status = status
        self.status_reason = reason or None
        self.tell(self.name, self.stack_id, "AWS::CloudFormation::Stack", status, reason)

    def note(self, resource: Resource, reason: str = "") -> None:
        """A resource's status as an event."""
        self.tell(resource.logical_id, resource.made.physical_id, resource.type, resource.status, reason)

    def tell(self, logical_id: str, physical_id: str, kind: str, status: str, reason: str = "") -> None:
        """Add an event."""
        event = Event(logical_id, physical_id, kind, status, reason, str(uuid4()), datetime.now(UTC))
        self.events.append(event)

    def put(self, resource: Resource, reason: str = "") -> None:
        """Remember a resource, with the event of its status."""
        self.resources[resource.logical_id] = resource
        self.note(resource, reason)

    def described(self) -> dict[str, Any]:
        """As DescribeStacks shows it."""
        return {
            "StackId": self.stack_id,
            "StackName": self.name,
            "Description": self.description,
            "Parameters": [
                {
                    "ParameterKey": name,
                    "ParameterValue": self.given_parameters.get(name, self._default(name)),
                    "ResolvedValue": str(value) if value != self.given_parameters.get(name) else None,
                }
                for name, value in self.parameters.items()
            ],
            "CreationTime": self.created,
            "LastUpdatedTime": self.updated,
            "DeletionTime": self.deleted,
            "StackStatus": self.status,
            "StackStatusReason": self.status_reason,
            "DisableRollback": False,
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
            "Outputs": self.outputs,
            "RoleARN": self.role_arn,
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
            "EnableTerminationProtection": self.is_protected,
        }

    def _default(self, name: str) -> str:
        assert self.template is not None
        return str(self.template.section("Parameters")[name].get("Default", ""))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a stack's template may name besides its own resources."""

    account: str
    region: str
    exports: Mapping[str, str]


def scope_of(stack: Stack, template: Template, parameters: Mapping[str, Any], around: Surroundings) -> Scope:
    """The meaning of names in `template`, given what of the stack exists already."""
    pseudo = {
        "AWS::AccountId": around.account,
        "AWS::Region": around.region,
        "AWS::StackId": stack.stack_id,
        "AWS::StackName": stack.name,
        "AWS::URLSuffix": "amazonaws.com",
        "AWS::Partition": "aws",
        "AWS::NotificationARNs": [],
    }

    def reference(name: str) -> Any:
        if name in pseudo:
            return pseudo[name]
        if name in parameters:
            return parameters[name]
        return stack.resources[name].made.physical_id

    def attribute(logical_id: str, name: str) -> Any:
        attributes = stack.resources[logical_id].made.attributes
        if name not in attributes:
            kind = stack.resources[logical_id].type
            raise KeyError(f"{kind} has no attribute {name!r} here; it has {sorted(attributes)}")
        return attributes[name]

    def imported(name: str) -> str:
        if name not in around.exports:
            raise KeyError(f"No export named {name} found.")
        return around.exports[name]

    return Scope(reference, attribute, imported, template.section("Mappings"), template.section("Conditions"))


def wanted_resource(template: Template, logical_id: str, scope: Scope) -> Resource | None:
    """The resource as the template wants it, not made yet; None where its condition is false."""
    raw = template.resources[logical_id]
    if "Condition" in raw and not scope.holds(raw["Condition"]):
        return None
    properties = evaluate(raw.get("Properties", {}), scope)
    is_retained = raw.get("DeletionPolicy") in RETAINED
    return Resource(logical_id, raw["Type"], properties, Made(""), "CREATE_IN_PROGRESS", is_retained)


def outputs_of(template: Template, scope: Scope) -> list[dict[str, str]]:
    """The stack's outputs with their exports."""
    found = []
    for name, output in template.section("Outputs").items():
        if "Condition" in output and not scope.holds(output["Condition"]):
            continue
        entry = {"OutputKey": name, "OutputValue": str(evaluate(output["Value"], scope))}
        if "Description" in output:
            entry["Description"] = output["Description"]
        if "Export" in output:
            entry["ExportName"] = str(evaluate(output["Export"]["Name"], scope))
        found.append(entry)
    return found


def with_status(resource: Resource, status: str) -> Resource:
    """The same resource in another status."""
    return replace(resource, status=status)
