"""A prepared directory, as everything that speaks sees it: opened once, cheap to open, verified when it matters.

Opening compares the manifest with itself, with the pinned hashes, and every file with its promised length: a few
milliseconds. `verify` reads every byte. Nothing here ever writes, so a directory may be mounted read-only (SageMaker
mounts one at /opt/ml/model), and files that the manifest does not list are ignored.
"""

from __future__ import annotations

import difflib
import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_weights.digest import Digest, file_sha256, require_digest, require_sha256, require_size
from kokoro_weights.errors import (
    FileMissing,
    ManifestInvalid,
    NotPrepared,
    PathUnsafe,
    StatisticsRefused,
    VoiceMissing,
)
from kokoro_weights.manifest import (
    CONFIG_PATH,
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    NOISE_STATISTICS_PATH,
    ONNX_PATH,
    SAFETENSORS_PATH,
    STAGE_PATHS,
    STATISTICS_PATH,
    VOICE_SHAPE,
    FileEntry,
    Manifest,
)
from kokoro_weights.pins import require_pinned
from kokoro_weights.progress import silent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kokoro_weights.norm_statistics import NormStatistics
    from kokoro_weights.progress import Progress


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The ONNX files of `stages`."""

    text: Path
    decoder: Path
    generator: Path
    sketch: Path
    window: Path


@dataclass(frozen=True)
class WeightsDirectory:
    """Made by `open` (or by `prepare`), which guarantees: manifest sane, every listed file there with its size."""

    path: Path
    manifest: Manifest
    config: dict[str, Any]
    """kokoro's model configuration, `vocab` included. Shared, not copied: do not change it."""

    @classmethod
    def open(cls, path: Path) -> WeightsDirectory:
        """Open a prepared directory without reading the large files.

        Raises NotPrepared, ManifestInvalid, PathUnsafe, FileMissing, SizeMismatch, or HashMismatch (config.json only).
        """
        root = Path(path)
        manifest = read_manifest(root)
        require_pinned(manifest)
        for entry in manifest.files:
            _locate(root, entry)
        return cls(path=root, manifest=manifest, config=_read_config(root, manifest))

    def verify(self, progress: Progress = silent) -> None:
        """Read every file and compare its SHA-256; raises a FileRefused that names the first one that differs."""
        total_bytes = sum(entry.size_bytes for entry in self.manifest.files)
        done_bytes = 0
        for entry in self.manifest.files:
            progress("verify", done_bytes, total_bytes)
            require_sha256(entry.path, expected=entry.sha256, found=file_sha256(_locate(self.path, entry)))
            done_bytes += entry.size_bytes
        progress("verify", done_bytes, total_bytes)

    @property
    def onnx_model(self) -> Path | None:
        """The int8 ONNX export, or None where the source does not give one."""
        return self._listed(ONNX_PATH)

    @property
    def safetensors_model(self) -> Path | None:
        """The weights as safetensors, or None where the source does not give them."""
        return self._listed(SAFETENSORS_PATH)

    @property
    def stages(self) -> StageFiles | None:
        """The stages of the CPU engine, or None where the directory was made without all of them."""
        if not all(map(self.manifest.entry, STAGE_PATHS)):
            return None
        return StageFiles(*(self.path / path for path in STAGE_PATHS))

    @property
    def model_digests(self) -> frozenset[str]:
        """The SHA-256 of every form of the model that is here."""
        models = (ONNX_PATH, SAFETENSORS_PATH)
        return frozenset(entry.sha256 for entry in self.manifest.files if entry.path in models)

    def norm_statistics(self, *, noise: bool = False) -> NormStatistics | None:
        """What audio inside a sentence is predicted from: this directory's own table, else the one of this package.

        `noise`: the one for engines that draw the noise of the harmonic source. None where the package's belongs to
        other weights. Voices whose bytes are not the calibrated ones are left out. Raises StatisticsRefused for a table
        of its own that is too long, broken, or of other weights, and a FileRefused where its file has changed.
        """
        from kokoro_weights.norm_statistics import MAX_TABLE_BYTES, NormStatistics  # here, because it needs numpy
        from kokoro_weights.pins import shipped_statistics

        path = NOISE_STATISTICS_PATH if noise else STATISTICS_PATH
        entry = self.manifest.entry(path)
        if entry is not None and entry.size_bytes > MAX_TABLE_BYTES:
            raise StatisticsRefused(f"{path}: expected at most {MAX_TABLE_BYTES:,} bytes, found {entry.size_bytes:,}")
        table = NormStatistics.parse(shipped_statistics(path) if entry is None else _read_checked(self.path, entry))
        if table.calibrated.noise != noise:
            raise StatisticsRefused(f"{path}: it was measured {'without' if noise else 'with'} noise; calibrate again")
        if not self.model_digests <= set(table.calibrated.models):
            if entry is None:
                return None
            raise StatisticsRefused(
                f"{path}: it was made for other weights than those in {self.path}; "
                "calibrate these: `kokoro-weights calibrate`"
            )
        voices = {name: self.manifest.entry(f"voices/{name}.bin") for name in self.voice_names}
        return table.of_voices({name: voice.sha256 for name, voice in voices.items() if voice is not None})

    @property
    def vocabulary(self) -> dict[str, int]:
        """Phoneme to token id. Shared, not copied: do not change it."""
        vocabulary: dict[str, int] = self.config["vocab"]
        return vocabulary

    @property
    def voice_names(self) -> tuple[str, ...]:
        """The voices in alphabetical order."""
        return self.manifest.voice_names

    def voice(self, name: str) -> NDArray[np.float32]:
        """One voice: float32 [510, 256], read-only; row n-1 is the style for n phonemes.

        The hash is checked on every read, so keep the array. Raises VoiceMissing naming the closest voices, or a
        FileRefused when the file has changed since the directory was opened.
        """
        import numpy as np  # here, because the command line must start without it

        entry = self.manifest.entry(f"voices/{name}.bin")
        if entry is None:
            close = difflib.get_close_matches(name, self.voice_names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else "`kokoro-weights list` names them"
            raise VoiceMissing(f"voice {name!r} is not one of the {len(self.voice_names)} here; {hint}")
        values = np.frombuffer(_read_checked(self.path, entry), dtype="<f4").reshape(VOICE_SHAPE)
        return values.astype(np.float32, copy=False)

    def _listed(self, path: str) -> Path | None:
        """Where a file of the layout lies, or None where the manifest does not list it."""
        return self.path / path if self.manifest.entry(path) else None


def read_manifest(root: Path) -> Manifest:
    """The manifest of a directory, checked by itself only; raises NotPrepared or ManifestInvalid."""
    path = root / MANIFEST_NAME
    try:
        with path.open("rb") as file:
            data = file.read(MAX_MANIFEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotPrepared(
            f"{root}: no prepared weights here ({MANIFEST_NAME} is missing); run `kokoro-weights prepare`"
        ) from error
    except OSError as error:
        raise ManifestInvalid(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_MANIFEST_BYTES:
        raise ManifestInvalid(f"{path}: expected at most {MAX_MANIFEST_BYTES} bytes, found more")
    return Manifest.parse(data)


def _locate(root: Path, entry: FileEntry) -> Path:
    """The real path of a listed file: inside the directory even through links, regular, and of the promised size."""
    try:
        real = (root / entry.path).resolve(strict=True)
        inside = real.is_relative_to(root.resolve(strict=True))
        status = real.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError is how Python 3.12 reports a loop of links
        raise FileMissing(
            f"{entry.path}: the manifest lists it, but it is not in {root}; "
            "prepare the weights again (`kokoro-weights prepare --repair`) or restore the file"
        ) from error
    if not inside:
        raise PathUnsafe(f"{entry.path}: it is a link that leads out of {root}; copy the file there instead")
    if not stat.S_ISREG(status.st_mode):
        raise FileMissing(f"{entry.path}: expected a regular file in {root}, found something else")
    require_size(entry.path, expected_bytes=entry.size_bytes, found_bytes=status.st_size)
    return real


def _read_checked(root: Path, entry: FileEntry) -> bytes:
    """The bytes of a listed file, after both its length and its hash were compared."""
    path = _locate(root, entry)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileMissing(f"{entry.path}: cannot be read ({error.strerror})") from error
    require_digest(entry.path, expected=Digest(entry.sha256, entry.size_bytes), found=Digest.of(data))
    return data


def _read_config(root: Path, manifest: Manifest) -> dict[str, Any]:
    entry = next(entry for entry in manifest.files if entry.path == CONFIG_PATH)  # Manifest guarantees it
    data = _read_checked(root, entry)
    try:
        config = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ManifestInvalid(f"{CONFIG_PATH}: expected UTF-8 JSON, found something else ({error})") from error
    vocabulary = config.get("vocab") if isinstance(config, dict) else None
    if not isinstance(vocabulary, dict) or not vocabulary or not all(type(n) is int for n in vocabulary.values()):
        raise ManifestInvalid(f"{CONFIG_PATH}: expected an object with 'vocab', a map of phonemes to token ids")
    result: dict[str, Any] = config
    return result
