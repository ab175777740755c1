"""AgentCore's control plane: runtimes with their versions, and endpoints that name one.

As the service does it: every change of a runtime makes a version, the endpoint DEFAULT follows at once and others do
not; an image must be there and be for arm64, and its role must exist; and a runtime that was started has a log group.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from string import ascii_letters, digits
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from .errors import AwsRefusal
from .faults import Faults
from .wire import Answer, Call, json_answer

_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,47}")
_RUNTIME: Final = re.compile(r"/runtimes/(?P<id>[^/]+)/?")
_ENDPOINTS: Final = re.compile(r"/runtimes/(?P<id>[^/]+)/runtime-endpoints/?")
_ENDPOINT: Final = re.compile(r"/runtimes/(?P<id>[^/]+)/runtime-endpoints/(?P<name>[^/]+)/?")
_STOP: Final = re.compile(r"/runtimes/(?P<arn>.+)/stopruntimesession")
_TAGS: Final = re.compile(r"/tags/(?P<arn>.+)")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the face needs of the rest of the account; images by URI, roles by ARN."""

    image_exists: Callable[[str], bool]
    architecture: Callable[[str], str]
    role_exists: Callable[[str], bool]
    write_log: Callable[[str, str, str, list[str]], None]


@dataclass(slots=True)
class Runtime:
    """`versions` are what was asked for, oldest first; `endpoints` name one of them, by number from 1."""

    name: str
    arn: str
    region: str
    tags: dict[str, str]
    versions: list[dict[str, Any]]
    failure: str
    endpoints: dict[str, str] = field(default_factory=dict)
    changed: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def runtime_id(self) -> str:
        """The end of its ARN."""
        return self.arn.rpartition("/")[2]


class AgentCore:
    """All runtimes of all regions of one account."""

    def __init__(self, account_id: str, faults: Faults, neighbours: Neighbours) -> None:
        self._account_id = account_id
        self._faults = faults
        self._neighbours = neighbours
        self._runtimes: dict[str, Runtime] = {}
        self.stopped: list[str] = []
        """Sessions that were stopped, by id."""

    def reset(self) -> None:
        """Forget them."""
        self._runtimes.clear()
        self.stopped.clear()

    def answer(self, call: Call, asked: dict[str, Any]) -> Answer | None:
        """Carry out one API call; None for the data plane, which is not here."""
        path = unquote(call.path)
        if found := _STOP.fullmatch(path):
            return self._stop(found["arn"], asked)
        if found := _TAGS.fullmatch(path):
            tagged = [each for each in self._runtimes.values() if each.arn == found["arn"]]
            return json_answer({"tags": tagged[0].tags if tagged else {}})
        if path.rstrip("/") == "/runtimes":
            return self._create(call.region, asked) if call.method == "PUT" else self._list(call.region)
        if found := _RUNTIME.fullmatch(path):
            return self._runtime_call(call, found["id"], asked)
        if found := _ENDPOINTS.fullmatch(path):
            return self._put_endpoint(self._named(found["id"]), asked["name"], asked.get("agentRuntimeVersion"))
        if found := _ENDPOINT.fullmatch(path):
            return self._endpoint_call(call, self._named(found["id"]), found["name"], asked)
        return None

    def _create(self, region: str, asked: dict[str, Any]) -> Answer:
        name = asked["agentRuntimeName"]
        if not _NAME.fullmatch(name):
            raise _invalid(f"1 validation error detected: Value '{name}' at 'agentRuntimeName' failed to satisfy")
        if any((each.name, each.region) == (name, region) for each in self._runtimes.values()):
            raise AwsRefusal("ConflictException", f"An agent runtime with the name {name} already exists", 409)
        self._check(asked)
        unique = "".join(random.choices(ascii_letters + digits, k=10))
        arn = f"arn:aws:bedrock-agentcore:{region}:{self._account_id}:runtime/{name}-{unique}"
        made = Runtime(name, arn, region, dict(asked.get("tags", {})), [asked], self._faults.runtime_failure)
        made.endpoints["DEFAULT"] = "1"
        self._runtimes[made.runtime_id] = made
        group = f"/aws/bedrock-agentcore/runtimes/{made.runtime_id}-DEFAULT"
        self._neighbours.write_log(region, group, "runtime-logs", [made.failure or "agent-runtime: listening"])
        return json_answer(_described(made, made.versions[-1], 1), 202)

    def _list(self, region: str) -> Answer:
        found = [_described(each, each.versions[-1], len(each.versions)) for each in self._runtimes.values()]
        here = [each for each in found if each["agentRuntimeArn"].split(":")[3] == region]
        return json_answer({"agentRuntimes": here})

    def _runtime_call(self, call: Call, runtime_id: str, asked: dict[str, Any]) -> Answer:
        runtime = self._named(runtime_id)
        if call.method == "GET":
            wanted = parse_qs(call.query).get("version", [str(len(runtime.versions))])[0]
            if not 1 <= int(wanted) <= len(runtime.versions):
                raise _missing(f"{runtime_id} has no version {wanted}")
            return json_answer(_described(runtime, runtime.versions[int(wanted) - 1], int(wanted)))
        if call.method == "DELETE":
            if set(runtime.endpoints) - {"DEFAULT"}:
                raise AwsRefusal("ConflictException", f"{runtime_id} has endpoints", 409)
            del self._runtimes[runtime_id]
            return json_answer({"status": "DELETING", "agentRuntimeId": runtime_id}, 202)
        self._check(asked)
        runtime.versions.append(asked)
        runtime.endpoints["DEFAULT"] = str(len(runtime.versions))
        runtime.changed = datetime.now(UTC)
        return json_answer(_described(runtime, runtime.versions[-1], len(runtime.versions)), 202)

    def _put_endpoint(self, runtime: Runtime, name: str, version: str | None) -> Answer:
        if name in runtime.endpoints:
            raise AwsRefusal("ConflictException", f"{runtime.runtime_id} has an endpoint {name}", 409)
        return self._point(runtime, name, version)

    def _endpoint_call(self, call: Call, runtime: Runtime, name: str, asked: dict[str, Any]) -> Answer:
        if name not in runtime.endpoints:
            raise _missing(f"{runtime.runtime_id} has no endpoint {name}")
        if call.method == "GET":
            return json_answer(_endpoint(runtime, name))
        if call.method == "DELETE":
            del runtime.endpoints[name]
            return json_answer({"status": "DELETING", "agentRuntimeId": runtime.runtime_id, "endpointName": name}, 202)
        return self._point(runtime, name, asked.get("agentRuntimeVersion"))

    def _point(self, runtime: Runtime, name: str, version: str | None) -> Answer:
        wanted = version or str(len(runtime.versions))
        if not wanted.isdigit() or not 1 <= int(wanted) <= len(runtime.versions):
            raise _invalid(f"{runtime.runtime_id} has no version {wanted}")
        runtime.endpoints[name] = wanted
        told = _endpoint(runtime, name)
        return json_answer(told | {"agentRuntimeId": runtime.runtime_id, "endpointName": name}, 202)

    def _check(self, asked: dict[str, Any]) -> None:
        image = asked["agentRuntimeArtifact"]["containerConfiguration"]["containerUri"]
        if not self._neighbours.role_exists(asked["roleArn"]):
            raise _invalid("Role validation failed. Please verify that the role exists and its trust policy allows it")
        if not self._neighbours.image_exists(image):
            raise _invalid(f"The specified image identifier does not exist in the repository: {image}")
        found = self._neighbours.architecture(image)
        if found != "arm64":
            raise _invalid(f"Architecture incompatible for uri '{image}'. Supported architectures: [arm64]")

    def _stop(self, arn: str, asked: dict[str, Any]) -> Answer:
        if not any(each.arn == arn for each in self._runtimes.values()):
            raise _missing(f"no agent {arn}")
        del asked
        self.stopped.append(arn)
        return json_answer({"statusCode": 200})

    def _named(self, runtime_id: str) -> Runtime:
        found = self._runtimes.get(runtime_id)
        if found is None:
            raise _missing(f"Agent runtime {runtime_id} was not found")
        return found


def _described(runtime: Runtime, asked: dict[str, Any], version: int) -> dict[str, Any]:
    told = {
        **{key: value for key, value in asked.items() if key not in {"tags", "clientToken"}},
        "agentRuntimeName": runtime.name,
        "agentRuntimeArn": runtime.arn,
        "agentRuntimeId": runtime.runtime_id,
        "agentRuntimeVersion": str(version),
        "createdAt": runtime.changed.isoformat(),
        "lastUpdatedAt": runtime.changed.isoformat(),
        "status": "CREATE_FAILED" if runtime.failure else "READY",
    }
    return told | ({"failureReason": runtime.failure} if runtime.failure else {})


def _endpoint(runtime: Runtime, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "id": name,
        "agentRuntimeArn": runtime.arn,
        "agentRuntimeEndpointArn": f"{runtime.arn}/runtime-endpoint/{name}",
        "liveVersion": runtime.endpoints[name],
        "targetVersion": runtime.endpoints[name],
        "status": "READY",
        "createdAt": runtime.changed.isoformat(),
        "lastUpdatedAt": runtime.changed.isoformat(),
    }


def _invalid(message: str) -> AwsRefusal:
    return AwsRefusal("ValidationException", message)


def _missing(message: str) -> AwsRefusal:
    return AwsRefusal("ResourceNotFoundException", message, 404)
