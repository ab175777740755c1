"""CodeBuild: a build takes its sources from S3 and leaves an image in the registry, as a buildspec with Docker would.

What is in the image is the sources themselves: a test that compares digests sees whether they were the right ones.
"""

import io
import zipfile
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from .errors import AwsRefusal
from .faults import Faults
from .registry import Registry
from .wire import Answer, Call, json_answer


class CodeBuild:
    """All projects of one account."""

    def __init__(
        self,
        account_id: str,
        faults: Faults,
        registry: Registry,
        read_object: Callable[[str, str], bytes],
        write_log: Callable[[str, str, str, list[str]], None],
    ) -> None:
        self._account_id = account_id
        self._faults = faults
        self._registry = registry
        self._read_object = read_object
        self._write_log = write_log
        self._projects: dict[str, dict[str, Any]] = {}
        self._builds: dict[str, dict[str, Any]] = {}

    def reset(self) -> None:
        """Forget them."""
        self._projects.clear()
        self._builds.clear()

    def answer(self, call: Call, asked: dict[str, Any]) -> Answer:
        """Carry out one API call."""
        match call.action:
            case "CreateProject" | "UpdateProject":
                return json_answer({"project": self._put(call.region, asked)})
            case "DeleteProject":
                self._projects.pop(asked["name"], None)
                return json_answer({})
            case "BatchGetProjects":
                found = [self._projects[name] for name in asked["names"] if name in self._projects]
                missing = [name for name in asked["names"] if name not in self._projects]
                return json_answer({"projects": found, "projectsNotFound": missing})
            case "StartBuild":
                return json_answer({"build": self._start(call.region, asked)})
            case "BatchGetBuilds":
                return json_answer({"builds": [self._builds[each] for each in asked["ids"]], "buildsNotFound": []})
            case _:
                raise AwsRefusal("UnknownOperationException", f"{call.action} is not answered here")

    def _put(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        arn = f"arn:aws:codebuild:{region}:{self._account_id}:project/{asked['name']}"
        self._projects[asked["name"]] = asked | {"arn": arn}
        return self._projects[asked["name"]]

    def _start(self, region: str, asked: dict[str, Any]) -> dict[str, Any]:
        project = self._projects.get(asked["projectName"])
        if project is None:
            raise AwsRefusal("ResourceNotFoundException", f"Project cannot be found: {asked['projectName']}")
        build_id = f"{asked['projectName']}:{uuid4()}"
        given = (*project["environment"].get("environmentVariables", ()), *asked["environmentVariablesOverride"])
        variables = {each["name"]: each["value"] for each in given}
        failure = self._faults.build_failure or self._build(asked["sourceLocationOverride"], variables)
        group = f"/aws/codebuild/{asked['projectName']}"
        self._write_log(region, group, build_id.rpartition(":")[2], [failure or "built and pushed"])
        said = [{"statusCode": "COMMAND_EXECUTION_ERROR", "message": failure}] if failure else []
        status = "FAILED" if failure else "SUCCEEDED"
        build = {"id": build_id, "projectName": asked["projectName"]}
        self._builds[build_id] = build | {
            "buildStatus": status,
            "currentPhase": "COMPLETED",
            "phases": [
                {"phaseType": "DOWNLOAD_SOURCE", "phaseStatus": "SUCCEEDED"},
                {"phaseType": "BUILD", "phaseStatus": status, "contexts": said},
            ],
        }
        return build | {"buildStatus": "IN_PROGRESS", "currentPhase": "QUEUED"}

    def _build(self, source: str, variables: dict[str, str]) -> str:
        """Why it cannot be built, or an empty string."""
        bucket, _, key = source.partition("/")
        sources = self._read_object(bucket, key)
        with zipfile.ZipFile(io.BytesIO(sources)) as archive:
            if variables["DOCKERFILE"] not in archive.namelist():
                return f"unable to prepare context: {variables['DOCKERFILE']}: no such file"
        repository = variables["REPOSITORY"].partition("/")[2]
        machine = variables["PLATFORM"].partition("/")[2]
        self._registry.push(repository, variables["TAG"], {}, sources, machine)
        return ""
