"""The manifest of a prepared directory: what every file must be, where it came from, and under which licence.

It is data in, data out: nothing here touches the files. The manifest names its own content (`content`, the SHA-256 of
everything else in it), so that an edited manifest is refused before any file is compared with it. This protects from
accidents and from a changed file; it is no signature: what a manifest of a known source may say is pinned apart
(`pins`).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from kokoro_weights.errors import ManifestInvalid, PathUnsafe

MANIFEST_NAME: Final = "manifest.json"
CONFIG_PATH: Final = "config.json"
ONNX_PATH: Final = "model.int8.onnx"
SAFETENSORS_PATH: Final = "model.safetensors"
TEXT_STAGE_PATH: Final = "stages/text.onnx"
DECODER_STAGE_PATH: Final = "stages/decoder.onnx"
GENERATOR_STAGE_PATH: Final = "stages/generator.onnx"
SKETCH_STAGE_PATH: Final = "stages/sketch.onnx"
WINDOW_STAGE_PATH: Final = "stages/window.onnx"
STAGE_PATHS: Final = (TEXT_STAGE_PATH, DECODER_STAGE_PATH, GENERATOR_STAGE_PATH, SKETCH_STAGE_PATH, WINDOW_STAGE_PATH)
STATISTICS_PATH: Final = "statistics.npz"
NOISE_STATISTICS_PATH: Final = "statistics-noise.npz"
"""The same for engines that draw the noise of the harmonic source."""
FORMAT: Final = 1
MAX_MANIFEST_BYTES: Final = 4 << 20
"""About 300 times what 54 voices need; a longer file is not a manifest and is not read into memory."""

VOICE_SHAPE: Final = (510, 256)
"""One style row for every number of phonemes that fits the model's window, 256 values each."""
VOICE_BYTES: Final = VOICE_SHAPE[0] * VOICE_SHAPE[1] * 4

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VOICE_PATH = re.compile(r"voices/([a-z0-9_]+)\.bin")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file: its path inside the directory with forward slashes, its digest, its origin and SPDX licence."""

    path: str
    sha256: str
    size_bytes: int
    origin: str
    licence: str


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model this is, whatever form its weights take here."""

    name: str
    version: str
    repository: str
    licence: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a prepared directory promises. Build one directly, or `parse` the file; both are checked alike."""

    model: ModelIdentity
    source: str
    """Name of the source that made the directory."""
    inputs: str
    """SHA-256 over the source's pins: two directories with the same one were made from the same things."""
    files: tuple[FileEntry, ...]

    def __post_init__(self) -> None:
        """Raise ManifestInvalid, or its kind PathUnsafe, unless the manifest makes sense by itself."""
        seen: set[str] = set()
        for entry in self.files:
            require_safe_path(entry.path)
            if entry.path.casefold() in seen:
                raise ManifestInvalid(f"{MANIFEST_NAME}: {entry.path!r} is listed twice")
            seen.add(entry.path.casefold())
            if not _SHA256.fullmatch(entry.sha256):
                raise ManifestInvalid(f"{entry.path}: expected 64 hexadecimal digits of sha256, found {entry.sha256!r}")
            if entry.size_bytes < 0:
                raise ManifestInvalid(f"{entry.path}: expected a size of 0 or more, found {entry.size_bytes}")
            if entry.path.startswith("voices/"):
                if not _VOICE_PATH.fullmatch(entry.path):
                    raise ManifestInvalid(f"{entry.path}: expected voices/<name>.bin with a name of a-z, 0-9 and _")
                if entry.size_bytes != VOICE_BYTES:
                    raise ManifestInvalid(
                        f"{entry.path}: a voice is float32 {list(VOICE_SHAPE)}, {VOICE_BYTES} bytes, "
                        f"but the manifest promises {entry.size_bytes}"
                    )
        if CONFIG_PATH not in seen:
            raise ManifestInvalid(f"{MANIFEST_NAME}: {CONFIG_PATH} is not listed")
        if not {ONNX_PATH, SAFETENSORS_PATH} & seen:
            raise ManifestInvalid(f"{MANIFEST_NAME}: lists no model; expected {ONNX_PATH} or {SAFETENSORS_PATH}")
        if not self.voice_names:
            raise ManifestInvalid(f"{MANIFEST_NAME}: lists no voice; expected at least one voices/<name>.bin")

    @property
    def voice_names(self) -> tuple[str, ...]:
        """The voices, in alphabetical order."""
        matches = (_VOICE_PATH.fullmatch(entry.path) for entry in self.files)
        return tuple(sorted(match[1] for match in matches if match))

    @property
    def content(self) -> str:
        """SHA-256 over everything the manifest says: equal only for equal files of equal origin."""
        text = json.dumps(self._body(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def entry(self, path: str) -> FileEntry | None:
        """The entry of that path, or None where the directory has no such file."""
        return next((entry for entry in self.files if entry.path == path), None)

    def render(self) -> bytes:
        """The bytes of manifest.json: UTF-8, files in order of path."""
        return (json.dumps(self._body() | {"content": self.content}, indent=2) + "\n").encode()

    def _body(self) -> dict[str, Any]:
        files = [
            {
                "path": entry.path,
                "sha256": entry.sha256,
                "size": entry.size_bytes,
                "origin": entry.origin,
                "licence": entry.licence,
            }
            for entry in sorted(self.files, key=lambda entry: entry.path)
        ]
        source = {"name": self.source, "inputs": self.inputs}
        return {"format": FORMAT, "model": asdict(self.model), "source": source, "files": files}

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """Read manifest.json; raises ManifestInvalid (or PathUnsafe) saying which part is wrong."""
        try:
            raw = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise ManifestInvalid(f"{MANIFEST_NAME}: expected UTF-8 JSON, found something else ({error})") from error
        found = raw.get("format") if isinstance(raw, dict) else None
        if found != FORMAT:
            raise ManifestInvalid(
                f"{MANIFEST_NAME}: expected format {FORMAT}, found {found!r}; "
                "prepare the weights with this version of kokoro-weights"
            )
        top = _fields(raw, MANIFEST_NAME, format=int, content=str, model=dict, source=dict, files=list)
        model = _fields(top["model"], "model", name=str, version=str, repository=str, licence=str)
        source = _fields(top["source"], "source", name=str, inputs=str)
        files = [
            _fields(item, f"files[{index}]", path=str, sha256=str, size=int, origin=str, licence=str)
            for index, item in enumerate(top["files"])
        ]
        manifest = cls(
            model=ModelIdentity(**model),
            source=source["name"],
            inputs=source["inputs"],
            files=tuple(
                FileEntry(item["path"], item["sha256"], item["size"], item["origin"], item["licence"]) for item in files
            ),
        )
        if manifest.content != top["content"]:
            raise ManifestInvalid(
                f"{MANIFEST_NAME}: it was edited after it was made: expected content {top['content']}, "
                f"found {manifest.content}; prepare the weights again (`kokoro-weights prepare --repair`)"
            )
        return manifest


def require_safe_path(path: str) -> None:
    """Raise PathUnsafe unless the path stays inside its directory on every system: relative, plain, no `..`."""
    parts = path.split("/")
    printable = path.isprintable() and "\\" not in path and ":" not in path
    if not printable or any(part in {"", ".", ".."} for part in parts):
        raise PathUnsafe(
            f"{MANIFEST_NAME}: expected a plain relative path with forward slashes and no '..', found {path!r}"
        )
    if path.casefold() == MANIFEST_NAME:
        raise PathUnsafe(f"{MANIFEST_NAME}: it cannot list itself")


def _fields(raw: object, where: str, **kinds: type) -> dict[str, Any]:
    """The object's fields, which must be exactly `kinds`: an unknown field would escape the content hash."""
    if not isinstance(raw, dict) or raw.keys() != kinds.keys():
        found = sorted(raw) if isinstance(raw, dict) else type(raw).__name__
        raise ManifestInvalid(f"{MANIFEST_NAME}: {where}: expected the fields {sorted(kinds)}, found {found}")
    for name, kind in kinds.items():
        if not isinstance(raw[name], kind) or isinstance(raw[name], bool):
            found = type(raw[name]).__name__
            raise ManifestInvalid(f"{MANIFEST_NAME}: {where}: {name} should be {kind.__name__}, found {found}")
    return raw
