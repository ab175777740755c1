"""What every command is about: one agent in one stage of one account and region, with the tools to reach it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from infra_common.console import Console
from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION, DeploymentTarget
from infra_common.errors import NotDeployed
from infra_common.image_store import ImageStore
from infra_common.ownership import Owner
from infra_common.parameters import parameter_text
from infra_common.session import AwsSession

from agent_infra.names import Names
from agent_infra.profile_cache import FILE, ProfileCache
from agent_infra.release import Release

TOOL: Final = "agent-infra"
DEFAULT_AGENT: Final = "voice"


@dataclass(frozen=True)
class Target(DeploymentTarget):
    """`stage` and the agent's name are all that tells two deployments of an account apart."""

    agent: str

    @classmethod
    def of(cls, agent: str, stage: str, session: AwsSession, console: Console) -> Target:
        """Raises OptionRefused before AWS is asked anything."""
        Names(stage, agent, PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION)
        return cls(stage, session, console, agent)

    @cached_property
    def names(self) -> Names:
        """Asks for the account once."""
        return Names(self.stage, self.agent, self.session.account, self.session.region)

    @property
    def owner(self) -> Owner:
        """Whose tags its resources carry."""
        return Owner(self.stage, f"agent-{self.agent}", TOOL)

    @property
    def assembly_directory(self) -> Path:
        """Where templates go."""
        return self.root / "cdk.out" / f"agent-{self.stage}-{self.agent}"

    @property
    def images(self) -> ImageStore:
        """Its repository."""
        return ImageStore(self.client("ecr"), self.names.repository)

    @property
    def profiles(self) -> ProfileCache:
        """What is known of inference profiles: in this clone, or in the file that AGENT_INFRA_CONTEXT names."""
        return ProfileCache(Path(os.environ.get("AGENT_INFRA_CONTEXT") or self.root / FILE))

    def command(self, verb: str, *more: str) -> str:
        """What a person would type to do `verb` here."""
        stage = () if self.stage == "dev" else ("--stage", self.stage)
        agent = () if self.agent == DEFAULT_AGENT else ("--agent", self.agent)
        return " ".join((TOOL, verb, *agent, *stage, *more))

    def release(self) -> Release | None:
        """What the runtime's stack says is live; None where there is no such stack."""
        text = parameter_text(self.client("ssm"), self.names.release_parameter)
        return None if text is None else Release.parse(text)

    def require_runtime(self) -> str:
        """The runtime's ARN. Raises NotDeployed."""
        arn = parameter_text(self.client("ssm"), self.names.runtime_parameter)
        if arn is None:
            raise NotDeployed(
                f"{self.names.deployment} is not deployed in {self.session.region}",
                fix=self.command("deploy", "--bedrock-model-id ID"),
            )
        return arn
