"""What an image is made of, its tag by content, and building it.

The tag covers everything that goes into the image: the inputs, the Dockerfile, its stage, the platform.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infra_common.base_image import BaseImage
from infra_common.console import Console
from infra_common.container_engine import ContainerEngine, ImageBuild
from infra_common.content_tag import StagedContext, stage_context
from infra_common.errors import PreconditionError
from infra_common.image_store import ImageStore, StoredImage

BASE_ARGUMENT: Final = "BASE_IMAGE"


@dataclass(frozen=True)
class ImageRecipe:
    """`inputs` lie below `root`, the Dockerfile among them; `target` is one of its stages, None for the last.

    `base` is what the Dockerfile's BASE_IMAGE is, None where the file says so itself; `pin` is the command that notes
    the base's digest.
    """

    root: Path
    inputs: tuple[str, ...]
    dockerfile: str
    target: str | None
    platform: str
    base: BaseImage | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    pin: str = ""

    @contextmanager
    def staged(self) -> Iterator[StagedContext]:
        """The context with its tag, in a folder that goes when the context is left. Raises PreconditionError."""
        if not (self.root / self.dockerfile).is_file():
            raise PreconditionError(
                f"{self.dockerfile} is not there",
                fix="add --dockerfile FILE, or --image-digest of an image in the repository",
            )
        with tempfile.TemporaryDirectory(prefix="voice-image-") as folder:
            recipe = (self.platform, self.target or "", self.dockerfile)
            yield stage_context(self.root, self.inputs, Path(folder), recipe=recipe)

    def content_tag(self) -> str:
        """The tag that an image of these sources has."""
        with self.staged() as context:
            return context.tag

    def arguments(self) -> dict[str, str]:
        """What a build is told beside its files."""
        return {} if self.base is None else {BASE_ARGUMENT: self.base.reference}

    def build(self, name: str, engine: ContainerEngine, console: Console) -> str:
        """Build as `name`:tag; returns the tag. Raises PreconditionError or ToolFailed."""
        if self.base is not None and self.base.digest is None:
            console.note(f"{self.base.image} is not pinned: `{self.pin}` notes its digest")
        with self.staged() as context, console.step(f"build image {context.tag}") as say:
            build = ImageBuild(
                context=context.directory,
                dockerfile=context.directory / self.dockerfile,
                target=self.target,
                platform=self.platform,
                labels=self.labels,
                arguments=self.arguments(),
            )
            engine.build(build, f"{name}:{context.tag}", say)
        return context.tag


def workspace_pyprojects(root: Path) -> tuple[str, ...]:
    """Every member's pyproject.toml: the lock speaks of all of them."""
    return tuple(path.relative_to(root).as_posix() for path in sorted((root / "packages").glob("*/pyproject.toml")))


def push_image(store: ImageStore, name: str, tag: str, engine: ContainerEngine, console: Console) -> StoredImage:
    """Push `name`:tag, unless its content is there."""
    found = store.find(tag)
    if found is not None:
        console.note(f"image {tag} is in the repository already")
        return found
    with console.step(f"push image {tag}") as say:
        return store.push(engine, f"{name}:{tag}", tag, say)
