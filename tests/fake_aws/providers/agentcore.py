"""AgentCore runtimes and their endpoints."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..errors import ResourceRefused
from ..stack import Made
from .base import Clients, Simple, lower_first


class Runtime(Simple):
    """AWS::BedrockAgentCore::Runtime."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        own = {key: value for key, value in tags.items() if not key.startswith("aws:")}
        client = self.clients["bedrock-agentcore-control"]
        answer = client.create_agent_runtime(
            agentRuntimeName=properties["AgentRuntimeName"], tags=own, **_arguments(properties)
        )
        made = _made(answer)
        failure = client.get_agent_runtime(agentRuntimeId=made.physical_id).get("failureReason")
        if failure:
            raise ResourceRefused(
                f'Resource handler returned message: "{failure}" (HandlerErrorCode: NotStabilized)', made
            )
        return made

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """A new version of it."""
        if old["AgentRuntimeName"] != new["AgentRuntimeName"]:
            return None
        client = self.clients["bedrock-agentcore-control"]
        answer = client.update_agent_runtime(agentRuntimeId=made.physical_id, **_arguments(new))
        return _made(answer)

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["bedrock-agentcore-control"].delete_agent_runtime(agentRuntimeId=made.physical_id)


class RuntimeEndpoint(Simple):
    """AWS::BedrockAgentCore::RuntimeEndpoint."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name, tags
        version = (
            {"agentRuntimeVersion": properties["AgentRuntimeVersion"]} if "AgentRuntimeVersion" in properties else {}
        )
        answer = self.clients["bedrock-agentcore-control"].create_agent_runtime_endpoint(
            agentRuntimeId=properties["AgentRuntimeId"], name=properties["Name"], **version
        )
        arn = answer["agentRuntimeEndpointArn"]
        runtime = answer["agentRuntimeArn"]
        return Made(arn, {"AgentRuntimeEndpointArn": arn, "AgentRuntimeArn": runtime, "Status": "READY"})

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """It moves to the new version."""
        if (old["AgentRuntimeId"], old["Name"]) != (new["AgentRuntimeId"], new["Name"]):
            return None
        self.clients["bedrock-agentcore-control"].update_agent_runtime_endpoint(
            agentRuntimeId=new["AgentRuntimeId"],
            endpointName=new["Name"],
            agentRuntimeVersion=new["AgentRuntimeVersion"],
        )
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["bedrock-agentcore-control"].delete_agent_runtime_endpoint(
            agentRuntimeId=properties["AgentRuntimeId"], endpointName=properties["Name"]
        )


def _arguments(properties: Mapping[str, Any]) -> dict[str, Any]:
    given = {
        "agentRuntimeArtifact": lower_first(properties["AgentRuntimeArtifact"]),
        "roleArn": properties["RoleArn"],
        "networkConfiguration": lower_first(properties.get("NetworkConfiguration", {"NetworkMode": "PUBLIC"})),
        "description": properties.get("Description"),
        "authorizerConfiguration": lower_first(properties.get("AuthorizerConfiguration")),
        "requestHeaderConfiguration": lower_first(properties.get("RequestHeaderConfiguration")),
        "lifecycleConfiguration": _whole(lower_first(properties.get("LifecycleConfiguration"))),
        "environmentVariables": properties.get("EnvironmentVariables"),
        "protocolConfiguration": {"serverProtocol": properties.get("ProtocolConfiguration", "HTTP")},
    }
    return {key: value for key, value in given.items() if value is not None}


def _whole(value: dict[str, Any] | None) -> dict[str, int] | None:
    return None if value is None else {key: int(item) for key, item in value.items()}


def _made(answer: Mapping[str, Any]) -> Made:
    attributes = {
        "AgentRuntimeArn": answer["agentRuntimeArn"],
        "AgentRuntimeId": answer["agentRuntimeId"],
        "AgentRuntimeVersion": answer["agentRuntimeVersion"],
        "Status": "READY",
    }
    return Made(answer["agentRuntimeId"], attributes)


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::BedrockAgentCore::Runtime": Runtime,
    "AWS::BedrockAgentCore::RuntimeEndpoint": RuntimeEndpoint,
}
