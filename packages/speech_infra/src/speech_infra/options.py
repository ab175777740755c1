"""What a person may choose for an endpoint, checked before anything is made."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, Self

from infra_common.errors import OptionRefused

from speech_infra.catalogue import SpeechModel, has_gpu

Strategy = Literal["blue-green", "rolling"]

_INSTANCE_TYPE: Final = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9]+")
_TAG: Final = re.compile(r"[\w .:/=+@-]{1,128}")
_KEY: Final = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+")
CREATE_KEY: Final = "create"


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Everything of an endpoint but its image and its weights."""

    instance_type: str
    instances: int = 1
    max_instances: int = 2
    strategy: Strategy = "blue-green"
    use_vpc: bool = False
    kms_key: str | None = None
    """An ARN, or `create` for a key of our own."""
    alarm_topic: str | None = None
    """ARN of an SNS topic that the alarms tell."""
    tags: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _INSTANCE_TYPE.fullmatch(self.instance_type):
            raise OptionRefused(f"--instance-type {self.instance_type!r}: expected one like ml.g5.xlarge")
        if not 1 <= self.instances <= self.max_instances <= 100:
            raise OptionRefused(
                f"expected 1 <= --instances <= --max-instances <= 100, found {self.instances} and {self.max_instances}"
            )
        if self.strategy == "rolling" and self.instances < 2:
            raise OptionRefused(
                "--strategy rolling replaces at most half of the fleet at a time, so it needs --instances 2 or more; "
                "with one instance leave it at blue-green"
            )
        if self.kms_key not in {None, CREATE_KEY} and not _KEY.fullmatch(str(self.kms_key)):
            raise OptionRefused(f"--kms-key {self.kms_key!r}: expected `create` or the ARN of a key")
        for key, value in self.tags.items():
            if not _TAG.fullmatch(key) or key.lower().startswith("aws:") or len(value) > 256:
                raise OptionRefused(f"--tag {key}={value}: a key has 1 to 128 plain characters, not `aws:`")

    @classmethod
    def for_model(cls, model: SpeechModel, **chosen: Any) -> Self:
        """The model's defaults with what was chosen; None stands for not chosen."""
        given = {name: value for name, value in chosen.items() if value is not None}
        options = cls(**({"instance_type": model.instance_type} | given))
        if (model.gpu_machine_image is not None) != has_gpu(options.instance_type):
            wanted = "a GPU (families g and p)" if model.gpu_machine_image else "no GPU: the cpu image cannot use one"
            raise OptionRefused(
                f"--instance-type {options.instance_type}: {model.name} wants an instance with {wanted}; "
                f"the default is {model.instance_type}"
            )
        return options

    @property
    def peak_instances(self) -> int:
        """Instances that exist at once while an update goes on: blue/green doubles the fleet, rolling adds half."""
        return self.instances * 2 if self.strategy == "blue-green" else self.instances + self.instances // 2

    def as_dict(self) -> dict[str, Any]:
        """For the release record."""
        return asdict(self)
