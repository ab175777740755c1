"""What every command is about, whatever it deploys: a stage of one account and region, with the tools to reach it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from infra_common import cdk_cli
from infra_common.cdk_cli import CdkCli, project_root
from infra_common.console import Console
from infra_common.session import PRICE_REGION, AwsSession
from infra_common.stack_state import StackState, describe_stack

PLACEHOLDER_ACCOUNT: Final = "000000000000"
"""In templates that are made without credentials."""
PLACEHOLDER_REGION: Final = "us-east-1"


@dataclass(frozen=True)
class DeploymentTarget:
    """`stage` tells two deployments of an account apart."""

    stage: str
    session: AwsSession
    console: Console

    @cached_property
    def root(self) -> Path:
        """The clone that we run in."""
        return project_root(Path(__file__).resolve())

    @property
    def logs_directory(self) -> Path:
        """Where the tools' own output goes."""
        return self.root / "out" / "infra"

    @property
    def cdk(self) -> CdkCli:
        """The pinned command, at this account."""
        return CdkCli(self.root, self.session.environment(), self.logs_directory)

    @property
    def cloudformation(self) -> Any:
        """boto3's client."""
        return self.client("cloudformation")

    @property
    def pricing(self) -> Any:
        """The Price List's client, where it is served."""
        return self.session.client("pricing", PRICE_REGION)

    def client(self, service: str) -> Any:
        """boto3's client of the target's region."""
        return self.session.client(service)

    def stack(self, name: str) -> StackState | None:
        """One of its stacks, or None."""
        return describe_stack(self.cloudformation, name)

    def install_cdk(self) -> None:
        """The pinned CDK command, where it is not there yet. Raises ToolFailed or PreconditionError."""
        if cdk_cli.installed_version(self.root) != cdk_cli.pinned_version(self.root):
            with self.console.step("install the pinned CDK command (npm ci)"):
                cdk_cli.install(self.root, self.logs_directory / "npm-ci.log")
