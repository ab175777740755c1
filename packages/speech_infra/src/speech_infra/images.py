"""The server's image: what it is built from, its tag by content, its way into the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from infra_common.base_image import BaseImage
from infra_common.container_engine import ContainerEngine
from infra_common.errors import PreconditionError
from infra_common.image_recipe import ImageRecipe as Recipe
from infra_common.image_recipe import push_image as push
from infra_common.image_recipe import workspace_pyprojects
from infra_common.image_store import ImageStore, StoredImage

from speech_infra.catalogue import SpeechModel
from speech_infra.target import Target

PLATFORM: Final = "linux/amd64"
"""Of SageMaker's g5 and c7i instances."""
DOCKERFILE: Final = "packages/speech_container/Dockerfile"
NOTE: Final = "packages/speech_container/base-images.json"
BIDIRECTIONAL_LABEL: Final = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
_MEMBERS: Final = ("en_core_web_sm", "kokoro_weights", "speech_container", "speech_protocol", "speech_text")
"""The workspace members that the server consists of; a test holds this to their pyproject files."""
_FILES: Final = ("pyproject.toml", "uv.lock", "tools/uv-requirements.txt", "THIRD_PARTY.md")


class ImageRecipe(Recipe):
    """The server's."""

    @classmethod
    def of(cls, root: Path, model: SpeechModel, dockerfile: Path | None = None) -> ImageRecipe:
        """The project's own, or a Dockerfile elsewhere with everything beside it. Raises PreconditionError."""
        labels = {BIDIRECTIONAL_LABEL: "true"}
        if dockerfile is not None:
            if not dockerfile.is_file():
                raise PreconditionError(f"{dockerfile} is missing", fix="name an existing Dockerfile")
            stage = model.image_target if _has_stage(dockerfile, model.image_target) else None
            return cls(dockerfile.parent, (".",), dockerfile.name, stage, PLATFORM, labels=labels)
        members = tuple(f"packages/{name}" for name in _MEMBERS)
        inputs = (*_FILES, *members, *workspace_pyprojects(root))
        base = BaseImage.read(root / NOTE)
        return cls(root, inputs, DOCKERFILE, model.image_target, PLATFORM, base, labels, "speech-infra image pin")


def local_name(model: SpeechModel, tag: str) -> str:
    """What the image is called before it is pushed."""
    return f"{_name(model)}:{tag}"


def build_image(target: Target, recipe: ImageRecipe, engine: ContainerEngine) -> str:
    """Build; returns the content tag. Raises PreconditionError or ToolFailed."""
    return recipe.build(_name(target.model), engine, target.console)


def push_image(target: Target, store: ImageStore, engine: ContainerEngine, tag: str) -> StoredImage:
    """Push what was built under `tag`, unless it is there."""
    return push(store, _name(target.model), tag, engine, target.console)


def _name(model: SpeechModel) -> str:
    return f"speech-{model.image_target}"


def _has_stage(dockerfile: Path, stage: str) -> bool:
    words = [line.lower().split() for line in dockerfile.read_text().splitlines()]
    return any(line[:1] == ["from"] and line[-2:] == ["as", stage] for line in words)
