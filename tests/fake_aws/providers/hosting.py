"""SageMaker models, endpoint configurations and endpoints."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..errors import ResourceRefused
from ..stack import Made
from .base import Clients, Simple, short_name, tag_list

_POLL_S: Final = 0.05
_NUMBERS: Final = frozenset(
    {
        "InitialInstanceCount",
        "ContainerStartupHealthCheckTimeoutInSeconds",
        "ModelDataDownloadTimeoutInSeconds",
        "WaitIntervalInSeconds",
        "TerminationWaitInSeconds",
        "MaximumExecutionTimeoutInSeconds",
        "Value",
    }
)


class Model(Simple):
    """AWS::SageMaker::Model; any change replaces it."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        model = properties.get("ModelName") or short_name(name, 63)
        wanted = {key: value for key, value in properties.items() if key not in {"ModelName", "Tags"}}
        made = self.clients["sagemaker"].create_model(ModelName=model, Tags=tag_list(tags), **wanted)
        return Made(made["ModelArn"], {"ModelName": model, "Id": made["ModelArn"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["sagemaker"].delete_model(ModelName=made.attributes["ModelName"])


class EndpointConfig(Simple):
    """AWS::SageMaker::EndpointConfig; any change replaces it."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        config = properties.get("EndpointConfigName") or short_name(name, 63)
        wanted = {
            key: _numbers(value) for key, value in properties.items() if key not in {"EndpointConfigName", "Tags"}
        }
        made = self.clients["sagemaker"].create_endpoint_config(
            EndpointConfigName=config, Tags=tag_list(tags), **wanted
        )
        return Made(made["EndpointConfigArn"], {"EndpointConfigName": config, "Id": made["EndpointConfigArn"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        name = made.attributes["EndpointConfigName"]
        self.clients["sagemaker"].delete_endpoint_config(EndpointConfigName=name)


class Endpoint(Simple):
    """AWS::SageMaker::Endpoint: waits, as the stack does, until the endpoint is in service or has failed."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it and wait."""
        endpoint = properties.get("EndpointName") or short_name(name, 63)
        wanted = (
            {"DeploymentConfig": _numbers(properties["DeploymentConfig"])} if "DeploymentConfig" in properties else {}
        )
        answer = self.clients["sagemaker"].create_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=properties["EndpointConfigName"],
            Tags=tag_list(tags),
            **wanted,
        )
        made = Made(answer["EndpointArn"], {"EndpointName": endpoint, "Id": answer["EndpointArn"]})
        failure = self._settled(endpoint).get("FailureReason")
        if failure:
            raise ResourceRefused(
                f'Resource handler returned message: "{failure}" (HandlerErrorCode: NotStabilized)', made
            )
        return made

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Move it to its new configuration and wait."""
        if old.get("EndpointName") != new.get("EndpointName"):
            return None
        name = made.attributes["EndpointName"]
        wanted = {"DeploymentConfig": _numbers(new["DeploymentConfig"])} if "DeploymentConfig" in new else {}
        self.clients["sagemaker"].update_endpoint(
            EndpointName=name, EndpointConfigName=new["EndpointConfigName"], **wanted
        )
        after = self._settled(name)
        if after["EndpointConfigName"] != new["EndpointConfigName"]:
            raise ResourceRefused(
                f'Resource handler returned message: "{after["FailureReason"]}" (HandlerErrorCode: NotStabilized)'
            )
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["sagemaker"].delete_endpoint(EndpointName=made.attributes["EndpointName"])

    def _settled(self, name: str) -> Any:
        while True:
            described = self.clients["sagemaker"].describe_endpoint(EndpointName=name)
            if described["EndpointStatus"] in {"InService", "Failed"}:
                return described
            time.sleep(_POLL_S)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: int(item) if key in _NUMBERS else _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else value


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::SageMaker::Model": Model,
    "AWS::SageMaker::EndpointConfig": EndpointConfig,
    "AWS::SageMaker::Endpoint": Endpoint,
}
