"""What a Bedrock model id needs of IAM.

A plain id (`amazon.nova-lite-v1:0`) is one foundation model in the agent's own region. An inference profile
(`us.amazon.nova-lite-v1:0`, or the ARN of one) sends a request to any of several regions: the role needs the profile
and the model in each of them, and for `global.` profiles the model's ARN without a region too. Access to the models is
bound to the profile, so that they cannot be asked past it ("Prerequisites for inference profiles", Bedrock user
guide).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from infra_common.errors import OptionRefused

_GEOGRAPHY: Final = re.compile(r"(global|apac|us-gov|[a-z]{2})\.[a-z0-9-]+\..+")
"""System-defined profiles: a geography before `provider.model`. No provider has a name of two letters."""
_PLAIN: Final = re.compile(r"[a-z0-9-]+\.[A-Za-z0-9._:-]+")
_PROFILE_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:bedrock:[a-z0-9-]+:(\d{12})?:(inference-profile|application-inference-profile)/[A-Za-z0-9._:-]+"
)


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """`profile_arn` is None for a plain id. `model_arns` are foundation models, sorted."""

    model_id: str
    profile_arn: str | None
    model_arns: tuple[str, ...]

    @classmethod
    def to_plain(cls, model_id: str, region: str) -> Self:
        """To a foundation model in `region` alone."""
        return cls(model_id, None, (_model_arn(partition_of(region), region, model_id),))

    @classmethod
    def through_profile(cls, model_id: str, region: str, profile_arn: str, model_arns: Iterable[str]) -> Self:
        """To what GetInferenceProfile says."""
        found = set(model_arns)
        if is_global(model_id):
            for name in [arn.rpartition("/")[2] for arn in found]:
                found |= {_model_arn(partition_of(region), where, name) for where in ("", region)}
        return cls(model_id, profile_arn, tuple(sorted(found)))

    @property
    def regions(self) -> list[str]:
        """Where a request may go, sorted; `global` profiles name only where it begins."""
        return sorted({arn.split(":")[3] for arn in self.model_arns} - {""})


def require_model_id(model_id: str) -> None:
    """Raises OptionRefused for what is neither a model id nor an inference profile."""
    if not (_PLAIN.fullmatch(model_id) or _PROFILE_ARN.fullmatch(model_id)):
        raise OptionRefused(
            f"--bedrock-model-id {model_id!r}: expected a model such as amazon.nova-lite-v1:0, a profile such as "
            "us.amazon.nova-lite-v1:0, or the ARN of an inference profile"
        )


def is_profile(model_id: str) -> bool:
    """Whether it is an inference profile, by its form."""
    return bool(_GEOGRAPHY.fullmatch(model_id) or _PROFILE_ARN.fullmatch(model_id))


def is_global(model_id: str) -> bool:
    """Whether its requests may go to any region."""
    return model_id.rpartition("/")[2].startswith("global.")


def partition_of(region: str) -> str:
    """The partition that a region belongs to."""
    if region.startswith("us-gov-"):
        return "aws-us-gov"
    return "aws-cn" if region.startswith("cn-") else "aws"


def profile_for(model_id: str, region: str) -> str:
    """The profile that a plain id most likely has in `region`: the geography's own."""
    geographies = {"us-gov": "us-gov", "us": "us", "eu": "eu", "ap": "apac"}
    geography = next((name for start, name in geographies.items() if region.startswith(f"{start}-")), "global")
    return f"{geography}.{model_id}"


def _model_arn(partition: str, region: str, name: str) -> str:
    return f"arn:{partition}:bedrock:{region}::foundation-model/{name}"
