"""`prepare`: from the name of a source to a directory that is whole and verified, whoever else prepares meanwhile.

Where the result lies: in the cache it is `weights-<first 16 digits of the manifest's content hash>`, so different
weights never share a folder and an update never changes files under a running server. The right directory is found
again by the hash of its inputs (the pins), which is known before anything is fetched.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.errors import SourceUnknown, StorageError, WeightsError
from kokoro_weights.manifest import MANIFEST_NAME, MAX_MANIFEST_BYTES, SAFETENSORS_PATH, STAGE_PATHS, Manifest
from kokoro_weights.progress import silent
from kokoro_weights.staging import locked, staging, storage_errors

if TYPE_CHECKING:
    from kokoro_weights.progress import Progress
    from kokoro_weights.source import Source

CACHE_VARIABLE = "KOKORO_WEIGHTS_CACHE"
FOLDER_PREFIX = "weights-"
LOCK_TIMEOUT_S = 900.0
"""A first preparation takes seconds from packages and minutes from a hub; longer than this, somebody is stuck."""

SOURCES = ("packages", "hub", "directory")


def default_cache() -> Path:
    """KOKORO_WEIGHTS_CACHE where it is set, else the user's cache folder for kokoro-voice-stack.

    Raises StorageError where it begins with `~` and there is no such home.
    """
    named = os.environ.get(CACHE_VARIABLE, "")
    if named:
        try:
            return Path(named).expanduser()
        except RuntimeError as error:
            raise StorageError(f"{named}: there is no such home folder; set {CACHE_VARIABLE} to a full path") from error
    return platformdirs.user_cache_path("kokoro-voice-stack", appauthor=False)


def prepare(
    source: str = "packages",
    *,
    directory: Path | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
    verify: bool = False,
    repair: bool = False,
    safetensors: bool = False,
    stages: bool = False,
) -> WeightsDirectory:
    """Return a prepared directory of `source`, making it if it is not there yet.

    With `packages` or `hub` it is made in `cache` (default: `default_cache()`), or at exactly `directory` where one is
    given; if it is there already this takes milliseconds, and reads every byte only with `verify`. With `directory`
    as the source, `directory` is used where it lies: always verified in full, never written to.

    With `safetensors` the directory has a `safetensors_model`, and with `stages` every stage of the CPU engine: from
    `packages` it is one more directory, which holds what was made beside the export; `hub` always has safetensors, and
    no stages; a `directory` that lacks what is asked for is refused.

    `repair` verifies a directory that is there and makes it anew when it is refused; without it, a damaged directory
    raises, because somebody should know.

    Raises a WeightsError: SourceUnknown, SourceMissing or SourceUnavailable for the source, FileRefused or
    DirectoryError for bytes that are not right, StorageError (CacheBusy) for the place.
    """
    report = progress or silent
    if source == "directory":
        if directory is None:
            raise SourceUnknown("the source 'directory' needs to know which one: expected --directory DIR, found none")
        weights = WeightsDirectory.open(directory)
        if safetensors:
            _require(weights, SAFETENSORS_PATH, "--safetensors")
        for path in STAGE_PATHS if stages else ():
            _require(weights, path, "--stages")
        weights.verify(report)
        return weights
    cached = Place(cache or default_cache())
    place = Place(directory.parent, directory) if directory is not None else cached
    named = _source_named(source)
    if source == "packages" and (safetensors or stages):
        derived = _derived(named, cached, safetensors=safetensors, stages=stages)
        if directory is None and not cached.holds(derived):  # keep the export too: no later call needs the registries
            prepare_from(named, cached, progress=report, repair=repair)
        named = derived
    elif stages:
        raise SourceUnknown(f"the source {source!r} has no stages, which are cut from the export in 'packages'")
    return prepare_from(named, place, progress=report, verify=verify, repair=repair)


def prepared_directories(cache: Path | None = None) -> list[Path]:
    """The directories in a cache that were prepared there, whole or not, in order of name."""
    return sorted((cache or default_cache()).glob(f"{FOLDER_PREFIX}*"))


@dataclass(frozen=True)
class Place:
    """Where prepared directories lie: in `root` under names of ours, or at exactly `target` inside `root`."""

    root: Path
    target: Path | None = None

    def find(self, source: Source) -> Path | None:
        """The directory made from the source's present inputs, whether or not it is still whole, or None."""
        candidates = [self.target] if self.target else prepared_directories(self.root)
        return next((path for path in candidates if _claims(path) == (source.name, source.inputs)), None)

    def holds(self, source: Source) -> bool:
        """Whether `find` finds something. Raises StorageError where the place cannot be read."""
        with storage_errors(self.root):
            return self.find(source) is not None

    def for_content(self, manifest: Manifest) -> Path:
        """Where a new directory with this manifest goes."""
        return self.target or self.root / f"{FOLDER_PREFIX}{manifest.content[:16]}"


def prepare_from(
    source: Source,
    place: Place,
    *,
    progress: Progress = silent,
    verify: bool = False,
    repair: bool = False,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
) -> WeightsDirectory:
    """As `prepare`, for any Source at any Place."""
    found = _open_found(source, place, progress, verify=verify, repair=repair)
    if found is not None:
        return found
    with locked(place.root, timeout_s=lock_timeout_s):
        found = _open_found(source, place, progress, verify=verify, repair=repair)
        if found is not None:  # another process made it while we waited for the lock
            return found
        return _make(source, place, progress, replace=repair)


def find_whole(source: Source, place: Place) -> WeightsDirectory | None:
    """The source's directory at `place` with every byte verified; None where there is none, or it is not whole."""
    try:
        return _open_found(source, place, silent, verify=True, repair=False)
    except WeightsError:
        return None


def _make(source: Source, place: Place, progress: Progress, *, replace: bool) -> WeightsDirectory:
    """Fill, publish and open. Called with the lock held."""
    if place.target is not None and not (replace and _claims(place.target)):
        _require_free(place.target)
    with staging(place.root) as stage:
        model = source.fill(stage, progress)
        manifest = Manifest(model=model, source=source.name, inputs=source.inputs, files=stage.entries)
        target = place.for_content(manifest)
        if place.target is None and not replace and (target / MANIFEST_NAME).exists():
            return WeightsDirectory.open(target)  # our name, yet not found by its inputs: this says what is wrong
        stage.publish(manifest, target, replace=replace or place.target is None)
    return WeightsDirectory.open(target)


def _open_found(
    source: Source, place: Place, progress: Progress, *, verify: bool, repair: bool
) -> WeightsDirectory | None:
    with storage_errors(place.root):
        path = place.find(source)
    if path is None:
        return None
    try:
        weights = WeightsDirectory.open(path)
        if verify or repair:
            weights.verify(progress)
    except WeightsError:
        if repair:
            return None
        raise
    return weights


def _claims(path: Path) -> tuple[str, str] | None:
    """The source and inputs that a directory's manifest claims, believed only as far as choosing what to open."""
    try:
        with (path / MANIFEST_NAME).open("rb") as file:
            source = json.loads(file.read(MAX_MANIFEST_BYTES))["source"]
        return str(source["name"]), str(source["inputs"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _require_free(target: Path) -> None:
    with storage_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise StorageError(
                f"{target}: expected a new or empty directory, or these weights; it holds something else; "
                "choose another one, or remove what is there yourself"
            )


def _source_named(name: str) -> Source:
    """The sources are imported only when asked for: the hub's needs its own extra."""
    if name == "packages":
        from kokoro_weights.packages_source import PackagesSource

        return PackagesSource()
    if name == "hub":
        from kokoro_weights.hub_source import HubSource

        return HubSource()
    raise SourceUnknown(f"expected a source of {', '.join(SOURCES)}, found {name!r}")


def _derived(export: Source, cached: Place, *, safetensors: bool, stages: bool) -> Source:
    """The source with what is made from it; it copies what `cached` already has whole."""
    from kokoro_weights.pins import load

    source = export
    if stages:
        from kokoro_weights.staged_source import StagedSource

        source = StagedSource(source, partial(find_whole, source, cached), expected=load().stages)
    if safetensors:
        from kokoro_weights.dequantised_source import DequantisedSource

        source = DequantisedSource(source, partial(find_whole, source, cached), expected=load().dequantised)
    return source


def _require(weights: WeightsDirectory, path: str, option: str) -> None:
    if weights.manifest.entry(path) is None:
        raise SourceUnknown(
            f"{weights.path}: expected {path} in it, found none, and this source adds no file; "
            f"make one that has it: `kokoro-weights prepare {option}`"
        )
