"""Every name in the account, from stage, model, account and region: nothing has to be remembered between commands.

A stage lets several deployments fit one account. Names of what survives its stack (bucket, repository) are fixed, so
that a later deployment adopts it instead of making a second one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from infra_common.endpoint_parameters import EndpointParameters
from infra_common.errors import OptionRefused

# A bucket's name has at most 63 characters, and ours hold stage, model, account and region.
_STAGE: Final = re.compile(r"[a-z][a-z0-9]{0,7}")
VARIANT: Final = "AllTraffic"


@dataclass(frozen=True, slots=True)
class Names:
    """`account` and `region` may be placeholders where a template is made without credentials."""

    stage: str
    model: str
    account: str
    region: str

    def __post_init__(self) -> None:
        if not _STAGE.fullmatch(self.stage):
            raise OptionRefused(
                f"--stage {self.stage!r}: expected 1 to 8 lower-case letters and digits, beginning with a letter"
            )

    @property
    def endpoint(self) -> str:
        """SageMaker endpoint."""
        return f"speech-{self.stage}-{self.model}"

    @property
    def foundation_stack(self) -> str:
        """CloudFormation stack of what lasts."""
        return f"{self.endpoint}-foundation"

    @property
    def network_stack(self) -> str:
        """CloudFormation stack of the VPC, where there is one."""
        return f"{self.endpoint}-network"

    @property
    def endpoint_stack(self) -> str:
        """CloudFormation stack of what serves."""
        return f"{self.endpoint}-endpoint"

    @property
    def stacks(self) -> tuple[str, str, str]:
        """In the order in which they are made."""
        return (self.foundation_stack, self.network_stack, self.endpoint_stack)

    @property
    def weights_bucket(self) -> str:
        """S3 bucket of the weights."""
        return f"{self.endpoint}-{self.account}-{self.region}"

    @property
    def access_log_bucket(self) -> str:
        """S3 bucket of who read and wrote the weights."""
        return f"{self.weights_bucket}-logs"

    @property
    def repository(self) -> str:
        """ECR repository."""
        return f"speech/{self.stage}/{self.model}"

    @property
    def log_group(self) -> str:
        """CloudWatch Logs group; SageMaker names it."""
        return f"/aws/sagemaker/Endpoints/{self.endpoint}"

    @property
    def parameters(self) -> EndpointParameters:
        """SSM parameters that say where the voice is, what is released and who uses it."""
        return EndpointParameters(self.stage, self.model)

    @property
    def release_parameter(self) -> str:
        """SSM parameter of what is released; its versions are the history."""
        return self.parameters.release

    @property
    def scalable_resource(self) -> str:
        """Application Auto Scaling's resource id."""
        return f"endpoint/{self.endpoint}/variant/{VARIANT}"
