"""What SageMaker says of the endpoint: its status, how many instances, and by digest what they really run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra_common.aws_errors import code_of


@dataclass(frozen=True, slots=True)
class EndpointState:
    """`image_digest` is None while nothing serves yet."""

    name: str
    arn: str
    status: str
    failure: str
    instances: int
    wanted_instances: int
    image_digest: str | None
    phase: str

    def described(self) -> str:
        """In a few words."""
        text = f"{self.status}, {self.instances} of {self.wanted_instances} instances"
        return f"{text}, {self.phase}" if self.phase else text


def endpoint_state(sagemaker: Any, name: str) -> EndpointState | None:
    """The endpoint, or None where there is none."""
    try:
        found = sagemaker.describe_endpoint(EndpointName=name)
    except sagemaker.exceptions.ClientError as error:
        if code_of(error) == "ValidationException":  # SageMaker's word for "could not find"
            return None
        raise
    variants = found.get("ProductionVariants") or [{}]
    variant = variants[0]
    images = variant.get("DeployedImages") or [{}]
    image = str(images[0].get("ResolvedImage") or images[0].get("SpecifiedImage") or "")
    phases = variant.get("VariantStatus") or []
    return EndpointState(
        name=name,
        arn=found["EndpointArn"],
        status=found["EndpointStatus"],
        failure=found.get("FailureReason", ""),
        instances=int(variant.get("CurrentInstanceCount") or 0),
        wanted_instances=int(variant.get("DesiredInstanceCount") or 0),
        image_digest=image.partition("@")[2] or None,
        phase=", ".join(each["Status"] for each in phases).lower(),
    )
