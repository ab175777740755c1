"""What every command is about: one model in one stage of one account and region, with the tools to reach it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from infra_common.console import Console
from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION, DeploymentTarget
from infra_common.errors import NotDeployed
from infra_common.image_store import ImageStore
from infra_common.ownership import Owner
from infra_common.session import AwsSession
from infra_common.stack_state import StackState

from speech_infra.catalogue import SpeechModel, model_named
from speech_infra.names import Names

TOOL: Final = "speech-infra"


@dataclass(frozen=True)
class Target(DeploymentTarget):
    """`stage` and the model's name are all that tells two deployments of an account apart."""

    model: SpeechModel

    @classmethod
    def of(cls, model: str, stage: str, session: AwsSession, console: Console) -> Target:
        """Raises ModelUnknown and OptionRefused before AWS is asked anything."""
        Names(stage, model, PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION)
        return cls(stage, session, console, model_named(model))

    @cached_property
    def names(self) -> Names:
        """Asks for the account once."""
        return Names(self.stage, self.model.name, self.session.account, self.session.region)

    @property
    def owner(self) -> Owner:
        """Whose tags its resources carry."""
        return Owner(self.stage, self.model.name, TOOL)

    @property
    def assembly_directory(self) -> Path:
        """Where templates go."""
        return self.root / "cdk.out" / f"speech-{self.stage}-{self.model.name}"

    @property
    def images(self) -> ImageStore:
        """Its repository."""
        return ImageStore(self.client("ecr"), self.names.repository)

    def command(self, verb: str, *more: str) -> str:
        """What a person would type to do `verb` here."""
        stage = () if self.stage == "dev" else ("--stage", self.stage)
        return " ".join((TOOL, verb, self.model.name, *stage, *more))

    def require_deployed(self) -> StackState:
        """The endpoint's stack. Raises NotDeployed."""
        state = self.stack(self.names.endpoint_stack)
        if state is None:
            raise NotDeployed(
                f"{self.names.endpoint} is not deployed in {self.session.region}", fix=self.command("deploy")
            )
        return state
