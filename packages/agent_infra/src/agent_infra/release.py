"""What is released: image, voice and options of an agent, as one value in SSM that the runtime's stack writes.

So it says what is live; SSM keeps its versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from infra_common.release_record import parsed, rendered, require_digest

from agent_infra.options import AgentOptions
from agent_infra.voice import Voice


@dataclass(frozen=True, slots=True)
class Release:
    """`voice` is the endpoint of the options' speech model."""

    image_digest: str
    voice: Voice
    options: AgentOptions

    def __post_init__(self) -> None:
        require_digest(self.image_digest)

    def render(self) -> str:
        """As it is stored: equal releases are equal texts."""
        return rendered(
            {
                "image": self.image_digest,
                "voice": self.voice.as_dict(),
                "options": self.options.as_dict(),
            }
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises OutcomeError where it is none of ours."""
        return parsed(
            text, lambda value: cls(value["image"], Voice(**value["voice"]), AgentOptions.from_dict(value["options"]))
        )
