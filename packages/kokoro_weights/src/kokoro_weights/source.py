"""What a source of weights is: something that fills a staging directory from pinned inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kokoro_weights.manifest import ModelIdentity
    from kokoro_weights.progress import Progress
    from kokoro_weights.staging import Staging


class Source(Protocol):
    """Implemented by `packages_source`, `hub_source`, and by small stand-ins in tests."""

    @property
    def name(self) -> str:
        """The name the manifest records."""
        ...

    @property
    def inputs(self) -> str:
        """SHA-256 over everything the result depends on: the pins, and how they are converted."""
        ...

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        """Write every file of the layout, each compared with its pinned hash where there is one.

        Raises a SourceError where the source cannot deliver and a FileRefused where it delivers other bytes.
        """
        ...
