"""The speech endpoint that the agent speaks with, as `speech-infra` has published it in SSM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra_common.endpoint_parameters import EndpointParameters
from infra_common.parameters import parameter_text

from agent_infra.errors import VoiceMissing


@dataclass(frozen=True, slots=True)
class Voice:
    """One SageMaker endpoint."""

    endpoint_name: str
    endpoint_arn: str

    def as_dict(self) -> dict[str, str]:
        """For the release record."""
        return {"endpoint_name": self.endpoint_name, "endpoint_arn": self.endpoint_arn}


def published_voice(ssm: Any, stage: str, model: str, region: str) -> Voice:
    """Raises VoiceMissing with the command that brings it up."""
    parameters = EndpointParameters(stage, model)
    name = parameter_text(ssm, parameters.endpoint_name)
    arn = parameter_text(ssm, parameters.endpoint_arn)
    if name is None or arn is None:
        missing = parameters.endpoint_name if name is None else parameters.endpoint_arn
        raise VoiceMissing(
            f"stage {stage} has no speech endpoint {model} in {region} (no {missing}), and an agent needs one to speak",
            fix=speech_command("deploy", stage, model),
        )
    return Voice(name, arn)


def speech_command(verb: str, stage: str, model: str) -> str:
    """What a person would type to do `verb` to the endpoint."""
    return " ".join(("speech-infra", verb, model, *(() if stage == "dev" else ("--stage", stage))))
