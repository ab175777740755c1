"""The server's image: what it is built from, its tag by content, its way into the repository."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra_common.container_engine import ContainerEngine, ImageBuild
from infra_common.content_tag import StagedContext, stage_context
from infra_common.errors import PreconditionError
from infra_common.image_store import ImageStore, StoredImage

from speech_infra.base_image import BaseImage
from speech_infra.catalogue import SpeechModel
from speech_infra.target import Target

PLATFORM: Final = "linux/amd64"
"""Of SageMaker's g5 and c7i instances."""
DOCKERFILE: Final = "packages/speech_container/Dockerfile"
BIDIRECTIONAL_LABEL: Final = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
BASE_ARGUMENT: Final = "BASE_IMAGE"
_MEMBERS: Final = ("en_core_web_sm", "kokoro_weights", "speech_container", "speech_protocol", "speech_text")
"""The workspace members that the server consists of; a test holds this to their pyproject files."""
_FILES: Final = ("pyproject.toml", "uv.lock", "tools/uv-requirements.txt", "THIRD_PARTY.md")


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """What an image is made of: `inputs` below `root`, a Dockerfile among them, and one of its stages."""

    root: Path
    inputs: tuple[str, ...]
    dockerfile: str
    target: str | None
    base: BaseImage | None = None
    """What the Dockerfile's BASE_IMAGE is; None where it says so itself."""

    @classmethod
    def of(cls, root: Path, model: SpeechModel, dockerfile: Path | None = None) -> ImageRecipe:
        """The project's own, or a Dockerfile elsewhere with everything beside it."""
        if dockerfile is not None:
            if not dockerfile.is_file():
                raise PreconditionError(f"{dockerfile} is missing", fix="name an existing Dockerfile")
            stage = model.image_target if _has_stage(dockerfile, model.image_target) else None
            return cls(dockerfile.parent, (".",), dockerfile.name, stage)
        members = tuple(f"packages/{name}" for name in _MEMBERS)
        others = sorted((root / "packages").glob("*/pyproject.toml"))  # the lock speaks of every member
        pyprojects = tuple(path.relative_to(root).as_posix() for path in others)
        base = BaseImage.read(root)
        return cls(root, (*_FILES, *members, *pyprojects), DOCKERFILE, model.image_target, base)

    @contextmanager
    def staged(self) -> Iterator[StagedContext]:
        """The context with its tag, in a folder that goes when the context is left."""
        if not (self.root / self.dockerfile).is_file():
            raise PreconditionError(
                f"{self.dockerfile} is not there",
                fix="add --dockerfile FILE, or --image-digest of an image in the repository",
            )
        with tempfile.TemporaryDirectory(prefix="speech-image-") as folder:
            recipe = (PLATFORM, self.target or "", self.dockerfile)
            yield stage_context(self.root, self.inputs, Path(folder), recipe=recipe)

    def content_tag(self) -> str:
        """The tag that an image of these sources has."""
        with self.staged() as context:
            return context.tag


def local_name(model: SpeechModel, tag: str) -> str:
    """What the image is called before it is pushed."""
    return f"speech-{model.image_target}:{tag}"


def build_image(target: Target, recipe: ImageRecipe, engine: ContainerEngine) -> str:
    """Build; returns the content tag. Raises PreconditionError or ToolFailed."""
    if recipe.base is not None and recipe.base.digest is None:
        target.console.note(f"{recipe.base.image} is not pinned: `speech-infra image pin` notes its digest")
    with recipe.staged() as context, target.console.step(f"build image {context.tag}") as say:
        build = ImageBuild(
            context=context.directory,
            dockerfile=context.directory / recipe.dockerfile,
            target=recipe.target,
            platform=PLATFORM,
            labels={BIDIRECTIONAL_LABEL: "true"},
            arguments={} if recipe.base is None else {BASE_ARGUMENT: recipe.base.reference},
        )
        engine.build(build, local_name(target.model, context.tag), say)
    return context.tag


def push_image(target: Target, store: ImageStore, engine: ContainerEngine, tag: str) -> StoredImage:
    """Push what was built under `tag`, unless it is there."""
    found = store.find(tag)
    if found is not None:
        target.console.note(f"image {tag} is in the repository already")
        return found
    with target.console.step(f"push image {tag}") as say:
        return store.push(engine, local_name(target.model, tag), tag, say)


def _has_stage(dockerfile: Path, stage: str) -> bool:
    words = [line.lower().split() for line in dockerfile.read_text().splitlines()]
    return any(line[:1] == ["from"] and line[-2:] == ["as", stage] for line in words)
