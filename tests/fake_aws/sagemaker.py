"""SageMaker hosting: models, endpoint configurations, and an endpoint's life.

What the product leans on: a model's image must exist by digest and its weights prefix must hold objects; an endpoint
that fails tells a FailureReason and has its container's lines in its log group; an update that meets an alarm of its
deployment configuration goes back to what ran before.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from .errors import AwsRefusal
from .faults import Faults
from .wire import Answer, Call, json_answer

_POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What hosting asks of other services of the account."""

    image_exists: Callable[[str, str], bool]
    """Region and image URI."""
    prefix_holds_objects: Callable[[str], bool]
    """An s3:// URI."""
    is_alarm_on: Callable[[str, str], bool]
    """Region and alarm name."""
    write_log: Callable[[str, str, str, list[str]], None]
    """Region, group, stream and lines."""


@dataclass(slots=True)
class Endpoint:
    """One endpoint."""

    name: str
    arn: str
    config_name: str
    status: str
    tags: list[dict[str, str]]
    region: str
    failure: str = ""
    deployment: dict[str, Any] | None = None
    running: list[dict[str, Any]] = field(default_factory=list)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    changed: datetime = field(default_factory=lambda: datetime.now(UTC))


class SageMaker:
    """All hosting resources of one account."""

    def __init__(self, account_id: str, faults: Faults, neighbours: Neighbours) -> None:
        self._account_id = account_id
        self._faults = faults
        self._neighbours = neighbours
        self._models: dict[tuple[str, str], dict[str, Any]] = {}
        self._configs: dict[tuple[str, str], dict[str, Any]] = {}
        self._endpoints: dict[tuple[str, str], Endpoint] = {}
        self._tags: dict[str, list[dict[str, str]]] = {}
        self._lock = threading.RLock()

    def reset(self) -> None:
        """Forget everything."""
        with self._lock:
            for each in (self._models, self._configs, self._endpoints, self._tags):
                each.clear()

    def answer(self, call: Call, asked: dict[str, Any]) -> Answer | None:
        """Carry out one API call; None where it is none of hosting's."""
        handler = _HANDLERS.get(call.action)
        if handler is None:
            return None
        return json_answer(handler(self, call.region, asked))

    def _create_model(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        name = asked["ModelName"]
        container = asked["PrimaryContainer"]
        if (region, name) in self._models:
            raise _invalid(f"Cannot create already existing model {self._arn(region, 'model', name)}.")
        if not self._neighbours.image_exists(region, container["Image"]):
            raise _invalid(f"Requested image {container['Image']} not found.")
        uri = container.get("ModelDataSource", {}).get("S3DataSource", {}).get("S3Uri")
        if uri and not self._neighbours.prefix_holds_objects(uri):
            raise _invalid(f"Could not find model data at {uri}.")
        arn = self._arn(region, "model", name)
        self._models[region, name] = asked | {"ModelArn": arn, "CreationTime": datetime.now(UTC)}
        self._tags[arn] = asked.get("Tags", [])
        return {"ModelArn": arn}

    def _create_config(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        name = asked["EndpointConfigName"]
        if (region, name) in self._configs:
            raise _invalid(f"Cannot create already existing endpoint configuration {name}.")
        for variant in asked["ProductionVariants"]:
            if (region, variant["ModelName"]) not in self._models:
                raise _invalid(f"Could not find model {self._arn(region, 'model', variant['ModelName'])}.")
        arn = self._arn(region, "endpoint-config", name)
        self._configs[region, name] = asked | {"EndpointConfigArn": arn, "CreationTime": datetime.now(UTC)}
        self._tags[arn] = asked.get("Tags", [])
        return {"EndpointConfigArn": arn}

    def _create_endpoint(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        name = asked["EndpointName"]
        with self._lock:
            if (region, name) in self._endpoints:
                raise _invalid(f"Cannot create already existing endpoint {self._arn(region, 'endpoint', name)}.")
            self._config(region, asked["EndpointConfigName"])
            arn = self._arn(region, "endpoint", name)
            endpoint = Endpoint(
                name,
                arn,
                asked["EndpointConfigName"],
                "Creating",
                asked.get("Tags", []),
                region,
                deployment=asked.get("DeploymentConfig"),
            )
            self._endpoints[region, name] = endpoint
            self._tags[arn] = asked.get("Tags", [])
        threading.Thread(target=self._come_up, args=(endpoint,), daemon=True).start()
        return {"EndpointArn": arn}

    def _update_endpoint(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        endpoint = self._endpoint(region, asked["EndpointName"])
        if endpoint.status != "InService":
            raise _invalid(f"Cannot update in-progress endpoint {endpoint.arn}.")
        self._config(region, asked["EndpointConfigName"])
        before = endpoint.config_name
        endpoint.status = "Updating"
        endpoint.deployment = asked.get("DeploymentConfig")
        threading.Thread(target=self._move, args=(endpoint, before, asked["EndpointConfigName"]), daemon=True).start()
        return {"EndpointArn": endpoint.arn}

    def _come_up(self, endpoint: Endpoint) -> None:
        self._hold()
        self._write_log(endpoint)
        if self._faults.endpoint_failure:
            endpoint.failure = self._faults.endpoint_failure
            endpoint.status = "Failed"
        else:
            endpoint.running = self._variants(endpoint)
            endpoint.status = "InService"
        endpoint.changed = datetime.now(UTC)

    def _move(self, endpoint: Endpoint, before: str, after: str) -> None:
        self._hold()
        endpoint.config_name = after
        self._write_log(endpoint)
        alarms = ((endpoint.deployment or {}).get("AutoRollbackConfiguration") or {}).get("Alarms", [])
        raised = [
            each["AlarmName"] for each in alarms if self._neighbours.is_alarm_on(endpoint.region, each["AlarmName"])
        ]
        if self._faults.endpoint_failure or raised:
            endpoint.failure = self._faults.endpoint_failure or (
                f"One or more alarms went into ALARM during the deployment: {', '.join(raised)}. Rolled back."
            )
            endpoint.config_name = before
        else:
            endpoint.failure = ""
            endpoint.running = self._variants(endpoint)
        endpoint.changed = datetime.now(UTC)
        endpoint.status = "InService"

    def _hold(self) -> None:
        while self._faults.endpoint_is_held:
            time.sleep(_POLL_S)

    def _write_log(self, endpoint: Endpoint) -> None:
        lines = self._faults.endpoint_log or ["the voice is ready"]
        stream = f"AllTraffic/i-{abs(hash((endpoint.name, endpoint.config_name))) % 10**12:012d}"
        self._neighbours.write_log(endpoint.region, f"/aws/sagemaker/Endpoints/{endpoint.name}", stream, lines)

    def _variants(self, endpoint: Endpoint) -> list[dict[str, Any]]:
        variants = []
        for each in self._config(endpoint.region, endpoint.config_name)["ProductionVariants"]:
            model = self._models[endpoint.region, each["ModelName"]]
            image = model["PrimaryContainer"]["Image"]
            count = each.get("InitialInstanceCount", 1)
            variants.append(
                {
                    "VariantName": each["VariantName"],
                    "DeployedImages": [
                        {"SpecifiedImage": image, "ResolvedImage": image, "ResolutionTime": datetime.now(UTC)}
                    ],
                    "CurrentWeight": 1.0,
                    "DesiredWeight": 1.0,
                    "CurrentInstanceCount": count,
                    "DesiredInstanceCount": count,
                }
            )
        return variants

    def _describe_endpoint(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        endpoint = self._endpoint(region, asked["EndpointName"])
        described = {
            "EndpointName": endpoint.name,
            "EndpointArn": endpoint.arn,
            "EndpointConfigName": endpoint.config_name,
            "EndpointStatus": endpoint.status,
            "CreationTime": endpoint.created,
            "LastModifiedTime": endpoint.changed,
            "ProductionVariants": endpoint.running,
        }
        if endpoint.failure:
            described["FailureReason"] = endpoint.failure
        if endpoint.deployment:
            described["LastDeploymentConfig"] = endpoint.deployment
        return described

    def _describe_model(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        found = self._models.get((region, asked["ModelName"]))
        if found is None:
            raise _invalid(f"Could not find model {self._arn(region, 'model', asked['ModelName'])}.")
        return found

    def _describe_config(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        return self._config(region, asked["EndpointConfigName"])

    def _delete_endpoint(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        self._endpoint(region, asked["EndpointName"])
        del self._endpoints[region, asked["EndpointName"]]
        return {}

    def _delete_model(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        self._describe_model(region, asked)
        del self._models[region, asked["ModelName"]]
        return {}

    def _delete_config(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        self._config(region, asked["EndpointConfigName"])
        del self._configs[region, asked["EndpointConfigName"]]
        return {}

    def _list_endpoints(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        part = asked.get("NameContains", "")
        return {
            "Endpoints": [
                {
                    "EndpointName": each.name,
                    "EndpointArn": each.arn,
                    "EndpointStatus": each.status,
                    "CreationTime": each.created,
                    "LastModifiedTime": each.changed,
                }
                for (where, name), each in self._endpoints.items()
                if where == region and part in name
            ]
        }

    def _list_models(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        part = asked.get("NameContains", "")
        return {
            "Models": [
                {"ModelName": name, "ModelArn": each["ModelArn"], "CreationTime": each["CreationTime"]}
                for (where, name), each in self._models.items()
                if where == region and part in name
            ]
        }

    def _list_tags(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        del region
        return {"Tags": self._tags.get(asked["ResourceArn"], [])}

    def _endpoint(self, region: str, name: str) -> Endpoint:
        found = self._endpoints.get((region, name))
        if found is None:
            raise _invalid(f'Could not find endpoint "{self._arn(region, "endpoint", name)}".')
        return found

    def _config(self, region: str, name: str) -> dict[str, Any]:
        found = self._configs.get((region, name))
        if found is None:
            raise _invalid(f'Could not find endpoint configuration "{self._arn(region, "endpoint-config", name)}".')
        return found

    def _arn(self, region: str, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{region}:{self._account_id}:{kind}/{name.lower()}"


def _invalid(message: str) -> AwsRefusal:
    return AwsRefusal("ValidationException", message)


_HANDLERS: Final[Mapping[str, Callable[[SageMaker, str, dict[str, Any]], dict[str, Any]]]] = {
    name: getattr(SageMaker, method)
    for name, method in {
        "CreateModel": "_create_model",
        "DescribeModel": "_describe_model",
        "DeleteModel": "_delete_model",
        "ListModels": "_list_models",
        "CreateEndpointConfig": "_create_config",
        "DescribeEndpointConfig": "_describe_config",
        "DeleteEndpointConfig": "_delete_config",
        "CreateEndpoint": "_create_endpoint",
        "UpdateEndpoint": "_update_endpoint",
        "DescribeEndpoint": "_describe_endpoint",
        "DeleteEndpoint": "_delete_endpoint",
        "ListEndpoints": "_list_endpoints",
        "ListTags": "_list_tags",
    }.items()
}
