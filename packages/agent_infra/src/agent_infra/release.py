"""What is released: image, voice and options of an agent, as one value in SSM that the runtime's stack writes.

So it says what is live; SSM keeps its versions.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Self

from infra_common.errors import OutcomeError

from agent_infra.errors import OptionRefused
from agent_infra.options import AgentOptions
from agent_infra.voice import Voice

FORMAT: Final = 1
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
NO_DIGEST: Final = f"sha256:{'0' * 64}"
"""Stands for an image that is not known yet, in templates that are only looked at."""


@dataclass(frozen=True, slots=True)
class Release:
    """`voice` is the endpoint of the options' speech model."""

    image_digest: str
    voice: Voice
    options: AgentOptions

    def __post_init__(self) -> None:
        if not DIGEST.fullmatch(self.image_digest):
            raise OptionRefused(f"an image is named by digest, sha256: and 64 hex digits; {self.image_digest!r} came")

    def render(self) -> str:
        """As it is stored: compact JSON with sorted keys, so that equal releases are equal texts."""
        value = {
            "format": FORMAT,
            "image": self.image_digest,
            "voice": self.voice.as_dict(),
            "options": self.options.as_dict(),
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises OutcomeError where it is none of ours."""
        try:
            value: Any = json.loads(text)
            found = value["format"]
            release = cls(value["image"], Voice(**value["voice"]), AgentOptions.from_dict(value["options"]))
        except (ValueError, KeyError, TypeError) as error:
            raise OutcomeError(
                f"the release record is not one this version can read ({error}); deploy again to write a new one"
            ) from error
        if found != FORMAT:
            raise OutcomeError(
                f"the release record has format {found!r}, this version reads {FORMAT}; use the version that wrote it"
            )
        return release
