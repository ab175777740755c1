"""The image that an image of ours is built on: its name, and the digest that `image pin` noted.

A tag moves, a digest does not. The note is a file of the clone, `base-images.json` beside the Dockerfile: it is
reviewed like the lock, and the images' content tags cover it. Until somebody with a network has pinned it the digest is
null and the tag counts; a digest is never guessed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from infra_common.console import Console
from infra_common.container_engine import ContainerEngine, Say
from infra_common.errors import PreconditionError

_NAME: Final = re.compile(r"[a-z0-9.:/_-]+:[A-Za-z0-9._-]+")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BaseImage:
    """`image` is a name with a tag; `digest` is `sha256:` and 64 hex digits, or None before it was pinned."""

    image: str
    digest: str | None

    @classmethod
    def read(cls, path: Path) -> BaseImage:
        """What is noted. Raises PreconditionError for a note that is missing or says something else."""
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            found = cls(note["python"]["image"], note["python"]["digest"])
            valid = bool(_NAME.fullmatch(found.image)) and (found.digest is None or _DIGEST.fullmatch(found.digest))
        except (OSError, ValueError, KeyError, TypeError):
            valid = False
        if not valid:
            raise PreconditionError(
                f"{path}: expected python.image with a tag and python.digest (sha256:... or null)",
                fix=f"git checkout {path}",
            )
        return found

    @property
    def reference(self) -> str:
        """What an engine is asked for. With a digest the tag is for the reader; the digest decides."""
        return self.image if self.digest is None else f"{self.image}@{self.digest}"

    def pinned(self, engine: ContainerEngine, platform: str, say: Say) -> BaseImage:
        """The same with the digest that its registry has for the tag now. Raises ToolFailed."""
        return replace(self, digest=engine.pull(self.image, platform, say))

    def write(self, path: Path) -> None:
        """Note it."""
        note = {"python": {"image": self.image, "digest": self.digest}}
        path.write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


def pin(root: Path, note: str, platform: str, console: Console) -> None:
    """Note the digest that the tag has today for `platform`, in the file `note` below `root`.

    Raises PreconditionError or ToolFailed.
    """
    engine = ContainerEngine()
    engine.info()
    before = BaseImage.read(root / note)
    with console.step(f"pull {before.image}") as say:
        after = before.pinned(engine, platform, say)
    after.write(root / note)
    console.result({"image": after.image, "digest": after.digest, "before": before.digest, "note": note})
    console.line(f"{after.image}: {after.digest}" + (" (as before)" if after == before else f", in {note}"))
