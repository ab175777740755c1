"""The release record in SSM, read: what is live, and what was before."""

from __future__ import annotations

from typing import Any

from speech_infra.release import Release

_PAGE = 50
_MOST = 500
"""SSM keeps the last hundred versions of a parameter."""


def live_release(ssm: Any, parameter: str) -> Release | None:
    """What the endpoint's stack says is live; None where there is no such stack."""
    try:
        return Release.parse(ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        return None


def release_history(ssm: Any, parameter: str) -> list[Release]:
    """Every version, oldest first; empty where there is none."""
    pages = ssm.get_paginator("get_parameter_history").paginate(
        Name=parameter, PaginationConfig={"PageSize": _PAGE, "MaxItems": _MOST}
    )
    try:
        return [Release.parse(each["Value"]) for page in pages for each in page["Parameters"]]
    except ssm.exceptions.ParameterNotFound:
        return []
