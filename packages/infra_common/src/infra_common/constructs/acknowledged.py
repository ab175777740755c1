"""Where a cdk-nag rule does not fit, the reason is written beside the resource, through this."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """`rule` as cdk-nag names it, such as AwsSolutions-S1."""
    cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=rule, reason=reason))
