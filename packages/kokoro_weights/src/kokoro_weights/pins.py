"""The hashes this version of the project was made for, read from the JSON files beside this module.

`data/voices.json` holds the SHA-256 of the raw float32 little-endian bytes of every voice. It was made once from the
npm package kokoro-js 1.2.1, whose own integrity hash is in `data/pins.json`. The published `voices/<name>.pt` are
expected to hold the same values; that is an assumption until it has run on a machine with the hub, and a voice that
differs is refused by name.

`data/statistics.npz` and `data/statistics-noise.npz` are the tables that audio inside a sentence is predicted from,
made once by `calibrate`.

`data/config.json` is kokoro's model configuration without its vocabulary; both sources must yield the same
`config.json`, whose hash is pinned too.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from kokoro_weights.digest import Digest, require_digest
from kokoro_weights.errors import ManifestInvalid
from kokoro_weights.manifest import (
    CONFIG_PATH,
    NOISE_STATISTICS_PATH,
    ONNX_PATH,
    SAFETENSORS_PATH,
    STATISTICS_PATH,
    VOICE_BYTES,
    ModelIdentity,
)

if TYPE_CHECKING:
    from kokoro_weights.manifest import Manifest

PINNED_SOURCES: Final = ("packages", "hub")


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file inside an installed Python distribution."""

    distribution: str
    version: str
    path: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class VoicePackage:
    """The npm package that holds the voices, and the integrity hash of its tarball."""

    package: str
    version: str
    integrity: str
    size_bytes: int
    licence: str


@dataclass(frozen=True, slots=True)
class PackagePins:
    """What the `packages` source is made from."""

    parts: tuple[PackageFile, ...]
    model: Digest
    model_licence: str
    vocabulary: PackageFile
    vocabulary_licence: str
    voices: VoicePackage


@dataclass(frozen=True, slots=True)
class HubPins:
    """What the `hub` source is made from."""

    repository: str
    revision: str
    licence: str
    checkpoint_path: str
    checkpoint_sha256: str


@dataclass(frozen=True, slots=True)
class Pins:
    """All of it. Tests build their own with `dataclasses.replace`."""

    model: ModelIdentity
    config: Digest
    config_constants: dict[str, Any]
    voices: dict[str, str]
    """Voice name to the SHA-256 of its raw float32 little-endian bytes [510, 256]."""
    packages: PackagePins
    dequantised: Digest
    """model.safetensors as made from the `packages` source's export. Not in PackagePins: it is no input of that."""
    stages: dict[str, Digest]
    """Path to digest of the stages, as made from the same export."""
    hub: HubPins
    statistics: dict[str, Digest]
    """Path in data to digest of the tables that `kokoro-weights calibrate` made for the `packages` source's weights."""

    def voice_digest(self, name: str) -> Digest:
        """The pinned digest of one voice."""
        return Digest(self.voices[name], VOICE_BYTES)

    def config_bytes(self, vocabulary: dict[str, int]) -> bytes:
        """The one form of `config.json`: the constants and the vocabulary, keys sorted, UTF-8."""
        config = self.config_constants | {"vocab": vocabulary}
        return (json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


@cache
def load() -> Pins:
    """The pins of this version. The files are part of the package, so nothing here can be missing."""
    raw = _resource("pins.json")
    packages, hub = raw["packages"], raw["hub"]
    return Pins(
        model=ModelIdentity(**raw["model"]),
        config=_digest(raw["config"]),
        config_constants=_resource("config.json"),
        voices=_resource("voices.json"),
        packages=PackagePins(
            parts=tuple(_package_file(part) for part in packages["parts"]),
            model=_digest(packages["model"]),
            model_licence=packages["model"]["licence"],
            vocabulary=_package_file(packages["vocabulary"]),
            vocabulary_licence=packages["vocabulary"]["licence"],
            voices=VoicePackage(
                package=packages["voices"]["package"],
                version=packages["voices"]["version"],
                integrity=packages["voices"]["integrity"],
                size_bytes=packages["voices"]["size"],
                licence=packages["voices"]["licence"],
            ),
        ),
        dequantised=_digest(raw["dequantised"]),
        stages={path: _digest(digest) for path, digest in raw["stages"].items()},
        hub=HubPins(
            repository=hub["repository"],
            revision=hub["revision"],
            licence=hub["licence"],
            checkpoint_path=hub["checkpoint"]["path"],
            checkpoint_sha256=hub["checkpoint"]["sha256"],
        ),
        statistics={path: _digest(raw["statistics"][path]) for path in (STATISTICS_PATH, NOISE_STATISTICS_PATH)},
    )


def shipped_statistics(path: str) -> bytes:
    """One of the tables of norm statistics in this package. Raises HashMismatch where it is not the pinned one."""
    data = files("kokoro_weights").joinpath("data", path).read_bytes()
    require_digest(path, expected=load().statistics[path], found=Digest.of(data))
    return data


def inputs_digest(*parts: object) -> str:
    """SHA-256 over the JSON of what a source is made from, which tells an up-to-date directory from an older one."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def require_pinned(manifest: Manifest, pins: Pins | None = None) -> None:
    """Raise ManifestInvalid where a manifest of a known source promises other bytes than the pinned ones.

    So a swapped voice is refused even when the manifest was rewritten to match it. Files without a pin, and manifests
    of other sources (tests, a mirror of one's own), are not looked at.
    """
    if manifest.source not in PINNED_SOURCES:
        return
    pins = pins or load()
    pinned = {f"voices/{name}.bin": sha256 for name, sha256 in pins.voices.items()}
    pinned |= {CONFIG_PATH: pins.config.sha256, ONNX_PATH: pins.packages.model.sha256}
    if manifest.source == "packages":
        pinned[SAFETENSORS_PATH] = pins.dequantised.sha256
        pinned |= {path: digest.sha256 for path, digest in pins.stages.items()}
    for entry in manifest.files:
        expected = pinned.get(entry.path, entry.sha256)
        if entry.sha256 != expected:
            raise ManifestInvalid(
                f"{entry.path}: the manifest promises sha256 {entry.sha256}, but this version of kokoro-weights "
                f"expects {expected} from the source {manifest.source!r}; prepare the weights again"
            )


def _resource(name: str) -> Any:
    return json.loads(files("kokoro_weights").joinpath("data", name).read_text(encoding="utf-8"))


def _digest(raw: dict[str, Any]) -> Digest:
    return Digest(raw["sha256"], raw["size"])


def _package_file(raw: dict[str, Any]) -> PackageFile:
    return PackageFile(raw["distribution"], raw["version"], raw["path"], _digest(raw))
