"""What every command is about: one model in one stage of one account and region, with the tools to reach it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from infra_common.cdk_cli import CdkCli, project_root
from infra_common.console import Console
from infra_common.image_store import ImageStore
from infra_common.ownership import Owner
from infra_common.session import PRICE_REGION, AwsSession
from infra_common.stack_state import StackState, describe_stack

from speech_infra.catalogue import SpeechModel, model_named
from speech_infra.errors import NotDeployed
from speech_infra.names import Names

TOOL: Final = "speech-infra"
PLACEHOLDER_ACCOUNT: Final = "000000000000"
"""In templates that are made without credentials."""
PLACEHOLDER_REGION: Final = "us-east-1"


@dataclass(frozen=True)
class Target:
    """`stage` and the model's name are all that tells two deployments of an account apart."""

    model: SpeechModel
    stage: str
    session: AwsSession
    console: Console

    @classmethod
    def of(cls, model: str, stage: str, session: AwsSession, console: Console) -> Target:
        """Raises ModelUnknown and OptionRefused before AWS is asked anything."""
        Names(stage, model, PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION)
        return cls(model_named(model), stage, session, console)

    @cached_property
    def names(self) -> Names:
        """Asks for the account once."""
        return Names(self.stage, self.model.name, self.session.account, self.session.region)

    @property
    def owner(self) -> Owner:
        """Whose tags its resources carry."""
        return Owner(self.stage, self.model.name, TOOL)

    @cached_property
    def root(self) -> Path:
        """The clone that we run in."""
        return project_root(Path(__file__).resolve())

    @property
    def logs_directory(self) -> Path:
        """Where the tools' own output goes."""
        return self.root / "out" / "infra"

    @property
    def assembly_directory(self) -> Path:
        """Where templates go."""
        return self.root / "cdk.out" / f"speech-{self.stage}-{self.model.name}"

    @property
    def cdk(self) -> CdkCli:
        """The pinned command, at this account."""
        return CdkCli(self.root, self.session.environment(), self.logs_directory)

    @property
    def images(self) -> ImageStore:
        """Its repository."""
        return ImageStore(self.client("ecr"), self.names.repository)

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
