"""What every release is stored with: compact JSON with a format, and an image that is named by its digest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from infra_common.errors import OptionRefused, OutcomeError

FORMAT: Final = 1
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
NO_DIGEST: Final = f"sha256:{'0' * 64}"
"""Stands for an image that is not known yet, in templates that are only looked at."""


def require_digest(image: str) -> None:
    """Raises OptionRefused for a tag, and for anything else that is no digest."""
    if not DIGEST.fullmatch(image):
        raise OptionRefused(f"an image is named by digest, sha256: and 64 hex digits; {image!r} came")


def rendered(record: Mapping[str, Any]) -> str:
    """As it is stored: compact JSON with sorted keys, so that equal releases are equal texts."""
    return json.dumps({"format": FORMAT, **record}, sort_keys=True, separators=(",", ":"))


def parsed[Record](text: str, read: Callable[[Any], Record]) -> Record:
    """What `read` makes of the value. Raises OutcomeError where it is none of ours, or of another format."""
    try:
        value = json.loads(text)
        if value["format"] == FORMAT:
            return read(value)
        found = value["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise OutcomeError(
            f"the release record is not one this version can read ({error}); deploy again to write a new one"
        ) from error
    raise OutcomeError(
        f"the release record has format {found!r}, this version reads {FORMAT}; use the version that wrote it"
    )
