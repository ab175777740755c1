"""What is released: the image, the weights and the options of an endpoint, as one value in SSM.

The endpoint's stack writes it, so it says what is live; SSM keeps its versions, so `rollback` needs no other store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from infra_common.release_record import parsed, rendered, require_digest

from speech_infra.errors import NothingToRollBack
from speech_infra.options import EndpointOptions


@dataclass(frozen=True, slots=True)
class Release:
    """`weights` is the content hash of the manifest, and the last part of the prefix in the bucket."""

    image_digest: str
    weights: str
    options: EndpointOptions
    is_paused: bool = False

    def __post_init__(self) -> None:
        require_digest(self.image_digest)

    @property
    def weights_prefix(self) -> str:
        """Where the weights lie in the bucket, with a slash at its end."""
        return weights_prefix(self.weights)

    def paused(self, *, is_paused: bool) -> Release:
        """The same release, serving or not."""
        return replace(self, is_paused=is_paused)

    def render(self) -> str:
        """As it is stored: equal releases are equal texts."""
        return rendered(
            {
                "image": self.image_digest,
                "weights": self.weights,
                "options": self.options.as_dict(),
                "paused": self.is_paused,
            }
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises OutcomeError where it is none of ours."""
        return parsed(
            text,
            lambda value: cls(value["image"], value["weights"], EndpointOptions(**value["options"]), value["paused"]),
        )


def weights_prefix(content: str) -> str:
    """The content-addressed prefix of weights."""
    return f"weights/{content}/"


def previous_release(history: Iterable[Release]) -> Release:
    """The last release before the live one that differs in more than being paused; `history` is oldest first."""
    *earlier, live = history
    for release in reversed(earlier):
        if release.paused(is_paused=False) != live.paused(is_paused=False):
            return release.paused(is_paused=False)
    raise NothingToRollBack(
        "every release since this endpoint was made is the same; there is nothing to go back to. "
        "`speech-infra deploy --image-digest sha256:…` deploys an image that is in the repository"
    )
