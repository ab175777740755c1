"""What an app is made from: a release, and what was found out about the account for it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from agent_infra.model_access import ModelAccess
from agent_infra.release import Release


@dataclass(frozen=True, slots=True)
class Plan:
    """`removal` is the command that a person takes this agent down with: the voice's own `destroy` names it.

    `enables_tracing`: Transaction Search is wanted, and ours to switch on. `has_builder`: CodeBuild makes the image.
    """

    release: Release
    model: ModelAccess
    removal: str
    enables_tracing: bool = False
    has_builder: bool = False

    def render(self) -> str:
        """Equal plans are equal texts."""
        parts = {"model": asdict(self.model), "tracing": self.enables_tracing, "builder": self.has_builder}
        return json.dumps([self.release.render(), self.removal, parts], sort_keys=True)
