"""IAM statements, and the reasons for resources that have a wildcard: cdk-nag wants each beside its policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from infra_common.constructs.acknowledged import acknowledge


def allow(
    sid: str, actions: list[str], resources: list[str], conditions: Mapping[str, object] | None = None
) -> iam.PolicyStatement:
    """A statement that allows."""
    return iam.PolicyStatement(sid=sid, actions=actions, resources=resources, conditions=conditions)


def argue_wildcards(policy: iam.Policy, reasons: Mapping[str, str]) -> None:
    """`reasons` by resource, as it stands in a statement of the policy."""
    stack = cdk.Stack.of(policy)
    for resource, reason in reasons.items():
        acknowledge(policy, f"AwsSolutions-IAM5[Resource::{_as_found(stack.resolve(resource))}]", reason)


def _as_found(name: Any) -> str:
    """A resolved ARN as cdk-nag writes it: intrinsic references in angle brackets."""
    if isinstance(name, str):
        return name
    if "Fn::GetAtt" in name:
        return f"<{'.'.join(name['Fn::GetAtt'])}>"
    return "".join(part if isinstance(part, str) else _reference(part) for part in name["Fn::Join"][1])


def _reference(part: Mapping[str, Any]) -> str:
    return f"<{part['Ref']}>" if "Ref" in part else f"<{'.'.join(part['Fn::GetAtt'])}>"
