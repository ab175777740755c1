"""Application Auto Scaling targets and policies."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..stack import Made
from .base import Clients, Simple


class ScalableTarget(Simple):
    """AWS::ApplicationAutoScaling::ScalableTarget."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Register it."""
        del name, tags
        self._register(properties)
        names = (properties["ResourceId"], properties["ScalableDimension"], properties["ServiceNamespace"])
        return Made("|".join(names), {"Id": "|".join(names)})

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Its bounds change in place."""
        if old.get("ResourceId") != new["ResourceId"]:
            return None
        self._register(new)
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Deregister it."""
        resource, dimension, namespace = made.physical_id.split("|")
        self.clients["application-autoscaling"].deregister_scalable_target(
            ServiceNamespace=namespace, ResourceId=resource, ScalableDimension=dimension
        )

    def _register(self, properties: Mapping[str, Any]) -> None:
        self.clients["application-autoscaling"].register_scalable_target(
            ServiceNamespace=properties["ServiceNamespace"],
            ResourceId=properties["ResourceId"],
            ScalableDimension=properties["ScalableDimension"],
            MinCapacity=int(properties["MinCapacity"]),
            MaxCapacity=int(properties["MaxCapacity"]),
        )


class ScalingPolicy(Simple):
    """AWS::ApplicationAutoScaling::ScalingPolicy."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Put it on its target."""
        del name, tags
        return self._put(properties)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Put it again under its name."""
        return self._put(new) if old.get("PolicyName") == new["PolicyName"] else None

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away; deregistering its target may have done so."""
        client = self.clients["application-autoscaling"]
        resource, dimension, namespace = _target(properties)
        found = client.describe_scaling_policies(ServiceNamespace=namespace, ResourceId=resource)["ScalingPolicies"]
        if any(each["PolicyName"] == properties["PolicyName"] for each in found):
            client.delete_scaling_policy(
                PolicyName=properties["PolicyName"],
                ServiceNamespace=namespace,
                ResourceId=resource,
                ScalableDimension=dimension,
            )

    def _put(self, properties: Mapping[str, Any]) -> Made:
        resource, dimension, namespace = _target(properties)
        kinds = {"TargetTrackingScalingPolicyConfiguration", "StepScalingPolicyConfiguration"}
        answer = self.clients["application-autoscaling"].put_scaling_policy(
            PolicyName=properties["PolicyName"],
            PolicyType=properties["PolicyType"],
            ServiceNamespace=namespace,
            ResourceId=resource,
            ScalableDimension=dimension,
            **{key: _typed(value) for key, value in properties.items() if key in kinds},
        )
        return Made(answer["PolicyARN"], {"Arn": answer["PolicyARN"]})


def _target(properties: Mapping[str, Any]) -> list[str]:
    if "ScalingTargetId" in properties:
        return str(properties["ScalingTargetId"]).split("|")
    return [properties["ResourceId"], properties["ScalableDimension"], properties["ServiceNamespace"]]


def _typed(value: Any) -> Any:
    """Templates may carry numbers as text; the API's client does not take them so."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::ApplicationAutoScaling::ScalableTarget": ScalableTarget,
    "AWS::ApplicationAutoScaling::ScalingPolicy": ScalingPolicy,
}
