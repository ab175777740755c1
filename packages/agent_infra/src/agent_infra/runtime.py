"""What AgentCore says of the runtime and its endpoint: which version is live, and by digest what that version runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra_common.aws_errors import code_of

from agent_infra.names import ENDPOINT


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """`image_digest` is of the live version; None where none is live."""

    arn: str
    runtime_id: str
    status: str
    failure: str
    endpoint_arn: str
    endpoint_status: str
    live_version: str | None
    target_version: str | None
    image_digest: str | None

    def described(self) -> str:
        """In a few words."""
        if self.live_version is None:
            return f"{self.status}, no version is live"
        if self.target_version not in {None, self.live_version}:
            return f"{self.endpoint_status}, version {self.live_version} is live, {self.target_version} is coming"
        return f"{self.endpoint_status}, version {self.live_version} is live"


def runtime_id_of(arn: str) -> str:
    """The last part of a runtime's ARN."""
    return arn.rpartition("/")[2]


def runtime_state(control: Any, arn: str) -> RuntimeState | None:
    """The runtime of that ARN with our endpoint, or None where there is no such runtime."""
    runtime_id = runtime_id_of(arn)
    try:
        found = control.get_agent_runtime(agentRuntimeId=runtime_id)
    except control.exceptions.ClientError as error:
        if code_of(error) == "ResourceNotFoundException":
            return None
        raise
    endpoint = _endpoint(control, runtime_id)
    live = endpoint.get("liveVersion")
    return RuntimeState(
        arn=found["agentRuntimeArn"],
        runtime_id=runtime_id,
        status=found["status"],
        failure=endpoint.get("failureReason") or found.get("failureReason") or "",
        endpoint_arn=endpoint.get("agentRuntimeEndpointArn", ""),
        endpoint_status=endpoint.get("status", "not there"),
        live_version=live,
        target_version=endpoint.get("targetVersion"),
        image_digest=_image_digest(control, runtime_id, live) if live else None,
    )


def _endpoint(control: Any, runtime_id: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = control.get_agent_runtime_endpoint(agentRuntimeId=runtime_id, endpointName=ENDPOINT)
    except control.exceptions.ClientError as error:
        if code_of(error) == "ResourceNotFoundException":
            return {}
        raise
    return found


def _image_digest(control: Any, runtime_id: str, version: str) -> str | None:
    found = control.get_agent_runtime(agentRuntimeId=runtime_id, agentRuntimeVersion=version)
    image = found.get("agentRuntimeArtifact", {}).get("containerConfiguration", {}).get("containerUri", "")
    return str(image).partition("@")[2] or None
