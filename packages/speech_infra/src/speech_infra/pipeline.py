"""Which GitHub workflows may deploy a stage, and what the stack of their roles is called.

A workflow proves who it is with a token whose subject names repository and environment; AWS gives it a role for an hour
or two, and no key is ever stored. Repositories made since July 2026 have numbers in their subjects, which names do not
show (`repo:owner@1/name@2:...`), so that somebody who takes over a name does not take over its rights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from infra_common.errors import OptionRefused
from infra_common.ownership import Owner

from speech_infra.names import Names

HOST: Final = "token.actions.githubusercontent.com"
AUDIENCE: Final = "sts.amazonaws.com"
COMPONENT: Final = "pipeline"
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9-]{1,39}(@\d+)?/[A-Za-z0-9._-]{1,100}(@\d+)?")
_ENVIRONMENT: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`repository` is owner/name, or owner@id/name@id where subjects have numbers."""

    names: Names
    repository: str
    environment: str
    makes_provider: bool = True
    """Whether the stack has GitHub's OIDC provider in it: an account holds one of an address."""

    def __post_init__(self) -> None:
        if not _REPOSITORY.fullmatch(self.repository) or self.repository.count("@") == 1:
            raise OptionRefused(
                f"--repository {self.repository!r}: expected owner/name or owner@id/name@id, as "
                "`gh api repos/OWNER/NAME/actions/oidc/customization/sub --jq .sub_claim_prefix` shows it"
            )
        if not _ENVIRONMENT.fullmatch(self.environment):
            raise OptionRefused(f"--environment {self.environment!r}: expected letters, digits, - and _")

    @property
    def stack(self) -> str:
        """CloudFormation stack of the roles."""
        return stack_of(self.names.stage)

    @property
    def deploy_subject(self) -> str:
        """Jobs of the environment, whose rules (reviewers, branches) GitHub keeps before it gives a token."""
        return f"repo:{self.repository}:environment:{self.environment}"

    @property
    def diff_subject(self) -> str:
        """Pull requests of the repository; those from forks get no token."""
        return f"repo:{self.repository}:pull_request"


def stack_of(stage: str) -> str:
    """The stack of a stage's roles."""
    return f"speech-{stage}-{COMPONENT}"


def owner_of(stage: str) -> Owner:
    """Whose tags it carries."""
    return Owner(stage, COMPONENT, "speech-infra")


def must_make_provider(iam: Any, cloudformation: Any, stage: str) -> bool:
    """Whether the account has no provider of GitHub's but the one that this stage's stack made. Raises as botocore."""
    listed = iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]
    present = [each["Arn"] for each in listed if each["Arn"].endswith(f"/{HOST}")]
    if not present:
        return True
    try:
        found = cloudformation.describe_stack_resources(StackName=stack_of(stage))["StackResources"]
    except cloudformation.exceptions.ClientError as error:
        if "does not exist" in str(error):
            return False
        raise
    return any(each.get("PhysicalResourceId") in present for each in found)
