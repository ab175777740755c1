"""Tags that say whose a resource is. What does not carry them is never changed and never deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

APPLICATION: Final = "kokoro-voice-stack"
APPLICATION_KEY: Final = "voice-stack:application"
STAGE_KEY: Final = "voice-stack:stage"
COMPONENT_KEY: Final = "voice-stack:component"
TOOL_KEY: Final = "voice-stack:managed-by"


@dataclass(frozen=True, slots=True)
class Owner:
    """Which deployment a resource belongs to; `component` is a model or an agent, `tool` the command that made it."""

    stage: str
    component: str
    tool: str

    def tags(self) -> dict[str, str]:
        """As they are put on every resource."""
        return {
            APPLICATION_KEY: APPLICATION,
            STAGE_KEY: self.stage,
            COMPONENT_KEY: self.component,
            TOOL_KEY: self.tool,
        }

    def owns(self, tags: Mapping[str, str]) -> bool:
        """Whether a resource with `tags` is this deployment's own."""
        return all(tags.get(key) == value for key, value in self.tags().items() if key != TOOL_KEY)


def tag_map(tags: list[dict[str, str]]) -> dict[str, str]:
    """AWS's lists of tags, in each of the three spellings, as a mapping."""
    return {
        each.get("Key") or each.get("key") or each["TagKey"]: each.get("Value")
        or each.get("value")
        or each.get("TagValue", "")
        for each in tags
    }
