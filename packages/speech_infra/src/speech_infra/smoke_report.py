"""A smoke test's result for machines: JUnit for pipelines, and a line in SSM that `status` shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

from infra_common.ownership import Owner

from speech_infra.smoke_test import SmokeResult

PARAMETER: Final = "last-smoke-test"


def write_junit(result: SmokeResult, path: Path) -> None:
    """One suite, one case for each thing that was looked at."""
    failures = sum(bool(case.failure) for case in result.cases)
    took_s = sum(case.took_s for case in result.cases)
    suite = ET.Element(
        "testsuite",
        name="smoke-test",
        tests=str(len(result.cases)),
        failures=str(failures),
        time=f"{took_s:.3f}",
        timestamp=result.at.isoformat(timespec="seconds"),
    )
    for case in result.cases:
        element = ET.SubElement(suite, "testcase", classname=result.endpoint, name=case.name, time=f"{case.took_s:.3f}")
        if case.failure:
            ET.SubElement(element, "failure", message=case.failure)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def record(ssm: Any, prefix: str, owner: Owner, result: SmokeResult) -> None:
    """Remember in the account when the endpoint was last proven."""
    failed = [case.name for case in result.cases if case.failure]
    value = {"at": result.at.isoformat(timespec="seconds"), "passed": result.has_passed, "failed": failed}
    name = f"{prefix}/{PARAMETER}"
    ssm.put_parameter(Name=name, Value=json.dumps(value), Type="String", Overwrite=True)
    tags = [{"Key": key, "Value": value} for key, value in owner.tags().items()]
    ssm.add_tags_to_resource(ResourceType="Parameter", ResourceId=name, Tags=tags)


def last_recorded(ssm: Any, prefix: str) -> dict[str, Any] | None:
    """What `record` has stored, or None."""
    try:
        text = ssm.get_parameter(Name=f"{prefix}/{PARAMETER}")["Parameter"]["Value"]
    except ssm.exceptions.ParameterNotFound:
        return None
    value: dict[str, Any] = json.loads(text)
    return value
