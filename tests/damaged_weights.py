"""What may happen to weights between their making and their use, each way with the file and the word of its refusal.

The functions replace a file, and never write into it: the directory may be of hard links to the weights cache.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kokoro_weights.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Damage:
    """`inflict` gets the path of `file`; `code`: of speech_container.start_failure."""

    file: str
    inflict: Callable[[Path], object]
    code: str


def damaged_copy(weights: Path, damage: Damage, copy: Path) -> Path:
    """A directory like `weights` but for the damage."""
    shutil.copytree(weights, copy, copy_function=os.link)
    damage.inflict(copy / damage.file)
    return copy


def _rewrite(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    _rewrite(path, bytes(content))


def _cut(path: Path) -> None:
    _rewrite(path, path.read_bytes()[:-1])


def _swap(path: Path) -> None:
    _rewrite(path, path.with_name("am_adam.bin").read_bytes())


def _swap_and_list(path: Path) -> None:
    _swap(path)
    listing = path.parents[1] / "manifest.json"
    manifest = Manifest.parse(listing.read_bytes())
    other = manifest.entry("voices/am_adam.bin")
    assert other is not None
    files = [
        replace(entry, sha256=other.sha256) if entry.path == f"voices/{path.name}" else entry
        for entry in manifest.files
    ]
    _rewrite(listing, replace(manifest, files=tuple(files)).render())


def _rename_a_voice(path: Path) -> None:
    _rewrite(path, path.read_bytes().replace(b"voices/af_heart.bin", b"voices/af_hurt.bin"))


DAMAGES: Final = {
    "a flipped bit of the export": Damage("model.int8.onnx", _flip, "weights_hash_mismatch"),
    "a flipped bit of the safetensors": Damage("model.safetensors", _flip, "weights_hash_mismatch"),
    "a download that was cut off": Damage("model.int8.onnx", _cut, "weights_size_mismatch"),
    "a swapped voice": Damage("voices/af_heart.bin", _swap, "weights_hash_mismatch"),
    "a swapped voice that is listed so": Damage("voices/af_heart.bin", _swap_and_list, "weights_manifest_invalid"),
    "a missing voice": Damage("voices/af_heart.bin", Path.unlink, "weights_file_missing"),
    "an edited manifest": Damage("manifest.json", _rename_a_voice, "weights_manifest_invalid"),
    "no manifest": Damage("manifest.json", Path.unlink, "weights_not_prepared"),
}
