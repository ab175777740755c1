"""Single files of one pinned revision of a hub repository, through huggingface_hub.

huggingface_hub knows the user's endpoint, token, proxy and cache (HF_ENDPOINT, HF_HOME, HF_HUB_OFFLINE ...), resumes
broken downloads and never shows a partial file. Its own progress bars and retry notices are replaced by our Progress
and one error. It is imported only when something is fetched.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kokoro_weights.errors import SourceMissing, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kokoro_weights.pins import HubPins

type Report = Callable[[int, int | None], None]
"""Called with the bytes there are of a file and its length, None where that is unknown."""


class Fetch(Protocol):
    """Turns a path in the repository into a local file, or raises a SourceError. Tests have their own."""

    def __call__(self, path: str, report: Report) -> Path: ...


class HubFetch:
    """The real one. `endpoint` and `cache` are huggingface_hub's; None means its own variables and defaults."""

    def __init__(self, pins: HubPins, *, endpoint: str | None = None, cache: Path | None = None) -> None:
        self._pins = pins
        self._endpoint = endpoint
        self._cache = cache

    def __call__(self, path: str, report: Report) -> Path:
        """The local copy of a file of the repository at the pinned revision.

        Raises SourceMissing without the extra `hub`, SourceUnavailable when the hub does not deliver.
        """
        try:
            from httpx2 import HTTPError
            from huggingface_hub import hf_hub_download
            from huggingface_hub.errors import EntryNotFoundError, HFValidationError, RevisionResolutionError
        except ImportError as error:
            raise SourceMissing(
                "the Python package huggingface_hub is not installed; install the extra `kokoro-weights[hub]`"
            ) from error
        pins = self._pins
        try:
            with _quiet_logs():
                found = hf_hub_download(
                    pins.repository,
                    path,
                    revision=pins.revision,
                    endpoint=self._endpoint,
                    cache_dir=self._cache,
                    tqdm_class=_reporting_bar(report),
                )
        except (OSError, HTTPError, EntryNotFoundError, HFValidationError, RevisionResolutionError) as error:
            raise SourceUnavailable(
                f"the hub did not deliver {path} of {pins.repository} at {pins.revision[:12]} "
                f"({type(error).__name__}); check the network, or use the source 'packages'"
            ) from error
        return Path(found)


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep the notice of every retry off the terminal: the last one becomes our error."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reporting_bar(report: Report) -> type[Any]:
    """A tqdm class that draws nothing and reports instead, which is how huggingface_hub lets callers see progress."""
    from tqdm import tqdm

    class ReportingBar(tqdm):  # type: ignore[misc]  # tqdm ships no types
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)  # huggingface_hub's own argument
            super().__init__(*args, **kwargs | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            report(int(self.n), int(self.total) if self.total else None)

    return ReportingBar
