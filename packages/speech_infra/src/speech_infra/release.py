"""What is released: the image, the weights and the options of an endpoint, as one value in SSM.

The endpoint's stack writes it, so it says what is live; SSM keeps its versions, so `rollback` needs no other store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from infra_common.errors import OutcomeError

from speech_infra.errors import NothingToRollBack, OptionRefused
from speech_infra.options import EndpointOptions

FORMAT: Final = 1
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
NO_DIGEST: Final = f"sha256:{'0' * 64}"
"""Stands for an image that is not known yet, in templates that are only looked at."""


@dataclass(frozen=True, slots=True)
class Release:
    """`weights` is the content hash of the manifest, and the last part of the prefix in the bucket."""

    image_digest: str
    weights: str
    options: EndpointOptions
    is_paused: bool = False

    def __post_init__(self) -> None:
        if not DIGEST.fullmatch(self.image_digest):
            raise OptionRefused(f"an image is named by digest, sha256: and 64 hex digits; {self.image_digest!r} came")

    @property
    def weights_prefix(self) -> str:
        """Where the weights lie in the bucket, with a slash at its end."""
        return weights_prefix(self.weights)

    def paused(self, *, is_paused: bool) -> Release:
        """The same release, serving or not."""
        return replace(self, is_paused=is_paused)

    def render(self) -> str:
        """As it is stored: compact JSON with sorted keys, so that equal releases are equal texts."""
        value = {
            "format": FORMAT,
            "image": self.image_digest,
            "weights": self.weights,
            "options": self.options.as_dict(),
            "paused": self.is_paused,
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises OutcomeError where it is none of ours."""
        try:
            value: Any = json.loads(text)
            found = value["format"]
            release = cls(value["image"], value["weights"], EndpointOptions(**value["options"]), value["paused"])
        except (ValueError, KeyError, TypeError) as error:
            raise OutcomeError(
                f"the release record is not one this version can read ({error}); deploy again to write a new one"
            ) from error
        if found != FORMAT:
            raise OutcomeError(
                f"the release record has format {found!r}, this version reads {FORMAT}; use the version that wrote it"
            )
        return release


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
