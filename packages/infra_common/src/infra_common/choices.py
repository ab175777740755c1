"""Options that mean the same of an endpoint and of an agent, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from infra_common.errors import OptionRefused
from infra_common.option_group import OptionGroup

TopicOption = Annotated[str | None, typer.Option(help="ARN of an SNS topic that the alarms tell.", metavar="ARN")]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag for every resource; may be given often.", metavar="KEY=VALUE")
]
DockerfileOption = Annotated[
    Path | None, typer.Option(help="Build from this one, with what lies beside it.", metavar="FILE")
]
DigestOption = Annotated[
    str | None, typer.Option(help="An image that is in the repository; nothing is built.", metavar="sha256:…")
]
AssemblyOption = Annotated[Path | None, typer.Option(help="Default: cdk.out/, a folder for each deployment.")]
SinceOption = Annotated[int, typer.Option(help="Minutes back.", min=0, max=43_200, metavar="MINUTES")]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageChoices(OptionGroup):
    """An image to be built, or one that is there."""

    dockerfile: DockerfileOption = None
    image_digest: DigestOption = None

    @property
    def is_to_be_built(self) -> bool:
        """Whether none that is there has been named. Raises OptionRefused for both, and for what is no digest."""
        from infra_common.release_record import DIGEST

        if self.image_digest is None:
            return True
        if self.dockerfile is not None:
            raise OptionRefused(
                "--image-digest names an image that is there, --dockerfile one to be built: give one of them"
            )
        if not DIGEST.fullmatch(self.image_digest):
            raise OptionRefused(f"--image-digest {self.image_digest!r}: expected sha256: and 64 hex digits")
        return False


def pairs(option: str, texts: Iterable[str] | None) -> dict[str, str]:
    """Of KEY=VALUE, which may be given often. Raises OptionRefused for a text without a value."""
    found = [text.partition("=") for text in texts or ()]
    for key, equals, _ in found:
        if not equals:
            raise OptionRefused(f"{option} {key}: expected KEY=VALUE")
    return {key: value for key, _, value in found}
