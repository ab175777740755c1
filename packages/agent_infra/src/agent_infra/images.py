"""The agent's image: what it is built from, and for which machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from infra_common.base_image import BaseImage
from infra_common.errors import PreconditionError
from infra_common.image_recipe import ImageRecipe, workspace_pyprojects

PLATFORM: Final = "linux/arm64"
"""Of AgentCore Runtime, which takes no other."""
DOCKERFILE: Final = "packages/agent_runtime/Dockerfile"
NOTE: Final = "packages/agent_runtime/base-images.json"
NAME: Final = "voice-agent"
"""What the image is called before it is pushed."""
_MEMBERS: Final = ("agent_runtime", "speech_client", "speech_protocol", "speech_text")
"""The workspace members that the agent consists of; a test holds this to their pyproject files."""
_FILES: Final = ("pyproject.toml", "uv.lock", "tools/uv-requirements.txt", "THIRD_PARTY.md")


def agent_recipe(root: Path, dockerfile: Path | None = None, platform: str = PLATFORM) -> ImageRecipe:
    """The project's own, or a Dockerfile elsewhere with everything beside it. Raises PreconditionError."""
    if dockerfile is not None:
        if not dockerfile.is_file():
            raise PreconditionError(f"{dockerfile} is missing", fix="name an existing Dockerfile")
        return ImageRecipe(dockerfile.parent, (".",), dockerfile.name, None, platform)
    members = tuple(f"packages/{name}" for name in _MEMBERS)
    return ImageRecipe(
        root,
        (*_FILES, *members, *workspace_pyprojects(root)),
        DOCKERFILE,
        None,
        platform,
        base=BaseImage.read(root / NOTE),
        pin="agent-infra image pin",
    )
