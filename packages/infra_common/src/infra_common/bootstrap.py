"""The CDK's own stack in the account (CDKToolkit): shared by all that the CDK deploys there, never ours to delete."""

from __future__ import annotations

from typing import Any, Final

STACK: Final = "CDKToolkit"
PARAMETER: Final = "/cdk-bootstrap/hnb659fds/version"
OLDEST: Final = 21
"""The version that brought the permissions our templates' change sets need (import of existing resources)."""


def bootstrap_version(ssm: Any) -> int | None:
    """The version in this account and region, or None where it was never bootstrapped."""
    try:
        return int(ssm.get_parameter(Name=PARAMETER)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        return None


def assets_bucket(account: str, region: str) -> str:
    """Where templates go on their way to CloudFormation."""
    return f"cdk-hnb659fds-assets-{account}-{region}"
