"""Every name in the account, from stage, agent, account and region: nothing has to be remembered between commands.

A stage lets several deployments fit one account, an agent's name several agents one stage. AgentCore gives a runtime
an id that begins with its name, so its log groups are found by that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from infra_common.errors import OptionRefused

_STAGE: Final = re.compile(r"[a-z][a-z0-9]{0,7}")
_AGENT: Final = re.compile(r"[a-z][a-z0-9]{0,15}")
ENDPOINT: Final = "live"
"""The runtime endpoint that callers are given. AgentCore's own, DEFAULT, moves to a new version at once."""


@dataclass(frozen=True, slots=True)
class Names:
    """`account` and `region` may be placeholders where a template is made without credentials."""

    stage: str
    agent: str
    account: str
    region: str

    def __post_init__(self) -> None:
        if not _STAGE.fullmatch(self.stage):
            raise OptionRefused(
                f"--stage {self.stage!r}: expected 1 to 8 lower-case letters and digits, beginning with a letter"
            )
        if not _AGENT.fullmatch(self.agent):
            raise OptionRefused(
                f"--agent {self.agent!r}: expected 1 to 16 lower-case letters and digits, beginning with a letter"
            )

    @property
    def deployment(self) -> str:
        """What a person calls it, and what its stacks' names begin with."""
        return f"agent-{self.stage}-{self.agent}"

    @property
    def foundation_stack(self) -> str:
        """CloudFormation stack of what lasts."""
        return f"{self.deployment}-foundation"

    @property
    def network_stack(self) -> str:
        """CloudFormation stack of the VPC, where there is one."""
        return f"{self.deployment}-network"

    @property
    def tracing_stack(self) -> str:
        """CloudFormation stack of Transaction Search, where we have switched it on."""
        return f"{self.deployment}-tracing"

    @property
    def builder_stack(self) -> str:
        """CloudFormation stack of the CodeBuild project, where there is one."""
        return f"{self.deployment}-builder"

    @property
    def runtime_stack(self) -> str:
        """CloudFormation stack of what answers."""
        return f"{self.deployment}-runtime"

    @property
    def stacks(self) -> tuple[str, ...]:
        """In the order in which they are made."""
        return (
            self.foundation_stack,
            self.network_stack,
            self.tracing_stack,
            self.builder_stack,
            self.runtime_stack,
        )

    @property
    def repository(self) -> str:
        """ECR repository."""
        return f"agent/{self.stage}/{self.agent}"

    @property
    def runtime(self) -> str:
        """AgentCore runtime: letters, digits and underscores."""
        return f"{self.agent}_{self.stage}"

    @property
    def log_group_prefix(self) -> str:
        """What the names of the runtime's CloudWatch Logs groups begin with; AgentCore adds id and endpoint."""
        return f"/aws/bedrock-agentcore/runtimes/{self.runtime}-"

    @property
    def parameter_prefix(self) -> str:
        """SSM parameters that say where the agent is."""
        return f"/agent/{self.stage}/{self.agent}"

    @property
    def release_parameter(self) -> str:
        """SSM parameter of what is released; its versions are the history."""
        return f"{self.parameter_prefix}/release"

    @property
    def runtime_parameter(self) -> str:
        """SSM parameter of the runtime's ARN."""
        return f"{self.parameter_prefix}/runtime-arn"

    @property
    def builder(self) -> str:
        """CodeBuild project."""
        return f"{self.deployment}-image"

    @property
    def source_bucket(self) -> str:
        """S3 bucket from which CodeBuild takes an image's sources."""
        return f"{self.deployment}-src-{self.account}-{self.region}"
