"""A prepared directory is refused, by name, when anything in it is not what was promised."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights.digest import Digest
from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.errors import (
    FileMissing,
    HashMismatch,
    ManifestInvalid,
    NotPrepared,
    PathUnsafe,
    SizeMismatch,
    VoiceMissing,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kokoro_weights.manifest import FileEntry

    Rewrite = Callable[[WeightsDirectory, Callable[[FileEntry], FileEntry | None]], None]


def flip_last_byte(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_a_whole_directory_opens_and_verifies(prepared: WeightsDirectory) -> None:
    weights = WeightsDirectory.open(prepared.path)
    weights.verify()
    assert weights.voice_names == ("af_heart", "bm_george")
    assert weights.onnx_model == weights.path / "model.int8.onnx"
    assert weights.onnx_model.is_file()
    assert weights.safetensors_model is None
    assert weights.vocabulary == {"a": 43, "b": 44}
    assert weights.config["n_token"] == 178


def test_a_voice_is_the_float32_values_of_its_file(prepared: WeightsDirectory) -> None:
    voice = prepared.voice("af_heart")
    assert voice.dtype == np.float32
    assert voice.shape == (510, 256)
    raw = (prepared.path / "voices/af_heart.bin").read_bytes()
    assert voice.astype("<f4").tobytes() == raw


def test_an_unknown_voice_names_the_closest_ones(prepared: WeightsDirectory) -> None:
    with pytest.raises(VoiceMissing, match=r"voice 'af_hart' is not one of the 2 here; did you mean af_heart\?"):
        prepared.voice("af_hart")


@pytest.mark.parametrize("name", ["zz", "../config", "", "af_heart.bin", "/etc/passwd"])
def test_a_voice_is_looked_up_and_never_a_path(prepared: WeightsDirectory, name: str) -> None:
    with pytest.raises(VoiceMissing):
        prepared.voice(name)


def test_wrong_bytes_are_refused_when_verified(prepared: WeightsDirectory) -> None:
    flip_last_byte(prepared.path / "model.int8.onnx")
    weights = WeightsDirectory.open(prepared.path)
    with pytest.raises(HashMismatch, match=r"model\.int8\.onnx: expected sha256 [0-9a-f]{64}, found [0-9a-f]{64}"):
        weights.verify()


def test_a_voice_changed_after_opening_is_refused_when_read(prepared: WeightsDirectory) -> None:
    flip_last_byte(prepared.path / "voices/af_heart.bin")
    with pytest.raises(HashMismatch, match=r"voices/af_heart\.bin"):
        prepared.voice("af_heart")


def test_a_truncated_file_is_refused_when_opened(prepared: WeightsDirectory) -> None:
    path = prepared.path / "model.int8.onnx"
    size_bytes = path.stat().st_size
    os.truncate(path, size_bytes - 1)
    with pytest.raises(SizeMismatch, match=rf"model\.int8\.onnx: expected {size_bytes} bytes, found {size_bytes - 1}"):
        WeightsDirectory.open(prepared.path)


def test_a_missing_voice_is_refused_when_opened(prepared: WeightsDirectory) -> None:
    (prepared.path / "voices/bm_george.bin").unlink()
    with pytest.raises(FileMissing, match=r"voices/bm_george\.bin"):
        WeightsDirectory.open(prepared.path)


def test_a_folder_in_the_place_of_a_file_is_refused(prepared: WeightsDirectory) -> None:
    (prepared.path / "model.int8.onnx").unlink()
    (prepared.path / "model.int8.onnx").mkdir()
    with pytest.raises(FileMissing, match="regular file"):
        WeightsDirectory.open(prepared.path)


def test_an_edited_manifest_is_refused(prepared: WeightsDirectory) -> None:
    path = prepared.path / "manifest.json"
    raw = json.loads(path.read_bytes())
    raw["files"] = [entry for entry in raw["files"] if entry["path"] != "voices/bm_george.bin"]
    path.write_text(json.dumps(raw))
    with pytest.raises(ManifestInvalid, match="edited"):
        WeightsDirectory.open(prepared.path)


def test_a_path_out_of_the_directory_is_refused(prepared: WeightsDirectory) -> None:
    path = prepared.path / "manifest.json"
    path.write_text(path.read_text().replace("model.int8.onnx", "../../secret"))
    with pytest.raises(PathUnsafe, match=r"\.\./\.\./secret"):
        WeightsDirectory.open(prepared.path)


def test_a_link_out_of_the_directory_is_refused(prepared: WeightsDirectory, tmp_path: Path) -> None:
    outside = tmp_path / "outside.bin"
    path = prepared.path / "voices/af_heart.bin"
    path.rename(outside)
    path.symlink_to(outside)
    with pytest.raises(PathUnsafe, match=r"voices/af_heart\.bin.*link"):
        WeightsDirectory.open(prepared.path)


def test_a_linked_folder_out_of_the_directory_is_refused(prepared: WeightsDirectory, tmp_path: Path) -> None:
    (prepared.path / "voices").rename(tmp_path / "voices")
    (prepared.path / "voices").symlink_to(tmp_path / "voices")
    with pytest.raises(PathUnsafe, match="voices/"):
        WeightsDirectory.open(prepared.path)


def test_a_loop_of_links_is_refused(prepared: WeightsDirectory) -> None:
    path = prepared.path / "voices/af_heart.bin"
    path.unlink()
    path.symlink_to("af_heart.bin")
    with pytest.raises(FileMissing, match="af_heart"):
        WeightsDirectory.open(prepared.path)


def test_a_link_to_the_whole_directory_is_fine(prepared: WeightsDirectory, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(prepared.path)
    WeightsDirectory.open(tmp_path / "link").verify()


def test_files_that_the_manifest_does_not_list_are_ignored(prepared: WeightsDirectory) -> None:
    (prepared.path / "lost+found").mkdir()
    WeightsDirectory.open(prepared.path).verify()


@pytest.mark.parametrize("kind", ["nothing", "empty", "file"])
def test_a_place_without_a_manifest_says_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    if kind == "empty":
        path.mkdir()
    elif kind == "file":
        path.write_text("x")
    with pytest.raises(NotPrepared, match="kokoro-weights prepare"):
        WeightsDirectory.open(path)


def test_a_manifest_without_end_is_not_read(prepared: WeightsDirectory) -> None:
    with (prepared.path / "manifest.json").open("ab") as file:
        file.truncate(1 << 30)
    with pytest.raises(ManifestInvalid, match="at most"):
        WeightsDirectory.open(prepared.path)


@pytest.mark.parametrize("config", [b"[]", b"{", b'{"vocab": {}}', b'{"vocab": {"a": "1"}}', b'{"vocab": {"a": true}}'])
def test_a_config_without_a_vocabulary_is_refused(prepared: WeightsDirectory, rewrite: Rewrite, config: bytes) -> None:
    (prepared.path / "config.json").write_bytes(config)
    digest = Digest.of(config)

    def change(entry: FileEntry) -> FileEntry:
        if entry.path != "config.json":
            return entry
        return replace(entry, sha256=digest.sha256, size_bytes=digest.size_bytes)

    rewrite(prepared, change)
    with pytest.raises(ManifestInvalid, match=r"config\.json"):
        WeightsDirectory.open(prepared.path)


def test_a_read_only_directory_is_used_and_not_written(prepared: WeightsDirectory, tmp_path: Path) -> None:
    mounted = tmp_path / "opt/ml/model"
    shutil.copytree(prepared.path, mounted)
    before = snapshot(mounted)
    for path in [*mounted.rglob("*"), mounted]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    weights = WeightsDirectory.open(mounted)
    weights.verify()
    weights.voice("af_heart")
    assert snapshot(mounted) == before
    for path in [mounted, *mounted.rglob("*")]:
        path.chmod(0o755)


def snapshot(root: Path) -> dict[str, Any]:
    return {str(path.relative_to(root)): path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}


def test_verify_reports_every_byte(prepared: WeightsDirectory) -> None:
    calls: list[tuple[str, int, int | None]] = []
    prepared.verify(lambda *call: calls.append(call))
    total_bytes = sum(entry.size_bytes for entry in prepared.manifest.files)
    assert calls[0] == ("verify", 0, total_bytes)
    assert calls[-1] == ("verify", total_bytes, total_bytes)
