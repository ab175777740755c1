"""SSM parameters as text: what stands there, and what stood there before."""

from __future__ import annotations

from typing import Any, Final

_PAGE: Final = 50
_MOST: Final = 500
"""SSM keeps the last hundred versions of a parameter."""


def parameter_text(ssm: Any, name: str) -> str | None:
    """A parameter's value, or None where there is none of that name."""
    try:
        return str(ssm.get_parameter(Name=name)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        return None


def parameter_texts(ssm: Any, name: str) -> list[str]:
    """Every version that SSM has kept, oldest first; empty where there is no such parameter."""
    pages = ssm.get_paginator("get_parameter_history").paginate(
        Name=name, PaginationConfig={"PageSize": _PAGE, "MaxItems": _MOST}
    )
    try:
        return [str(each["Value"]) for page in pages for each in page["Parameters"]]
    except ssm.exceptions.ParameterNotFound:
        return []
