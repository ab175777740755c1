"""The manifest refuses what it cannot mean."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from kokoro_weights.errors import ManifestInvalid, PathUnsafe
from kokoro_weights.manifest import FileEntry, Manifest, require_safe_path


def edited(manifest: Manifest, **changes: Any) -> bytes:
    return json.dumps(json.loads(manifest.render()) | changes).encode()


def with_file(manifest: Manifest, **fields: Any) -> Manifest:
    return replace(manifest, files=(*manifest.files, replace(manifest.files[0], **fields)))


def test_what_is_rendered_is_parsed_again(manifest: Manifest) -> None:
    assert Manifest.parse(manifest.render()) == manifest


def test_the_content_does_not_depend_on_the_order_of_files(manifest: Manifest) -> None:
    assert replace(manifest, files=manifest.files[::-1]).content == manifest.content


@pytest.mark.parametrize(
    "path",
    [
        "../model.bin",
        "voices/../../x.bin",
        "/etc/passwd",
        "a//b",
        "./a",
        "a/.",
        "",
        "..",
        "C:/x",
        "a\\..\\..\\b",
        "a\x00b",
        "a\nb",
        "manifest.json",
        "Manifest.JSON",
        "\ud800",
    ],
)
def test_a_path_that_could_leave_the_directory_is_refused(manifest: Manifest, path: str) -> None:
    with pytest.raises(PathUnsafe):
        with_file(manifest, path=path)
    raw = json.loads(manifest.render())
    raw["files"][0]["path"] = path
    with pytest.raises(PathUnsafe):
        Manifest.parse(json.dumps(raw).encode())


@pytest.mark.parametrize("path", ["config.json", "voices/af_heart.bin", "calibration/af_heart.v1.npz", "a..b"])
def test_a_plain_relative_path_is_accepted(path: str) -> None:
    require_safe_path(path)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"path": "CONFIG.json"}, "listed twice"),
        ({"path": "x", "sha256": "A" * 64}, "64 hexadecimal digits"),
        ({"path": "x", "size_bytes": -1}, "size of 0 or more"),
        ({"path": "voices/af_bella.bin", "size_bytes": 522239}, "522240 bytes"),
        ({"path": "voices/Bella.pt"}, "voices/<name>.bin"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(manifest: Manifest, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ManifestInvalid, match=says):
        with_file(manifest, **fields)


@pytest.mark.parametrize(
    ("dropped", "says"),
    [
        ("config.json", "config.json is not listed"),
        ("model.int8.onnx", "no model"),
        ("voices/af_heart.bin", "no voice"),
    ],
)
def test_the_layout_has_a_config_a_model_and_a_voice(manifest: Manifest, dropped: str, says: str) -> None:
    with pytest.raises(ManifestInvalid, match=says):
        replace(manifest, files=tuple(entry for entry in manifest.files if entry.path != dropped))


def test_safetensors_alone_are_a_model(manifest: Manifest) -> None:
    files = tuple(
        replace(entry, path="model.safetensors") if entry.path == "model.int8.onnx" else entry
        for entry in manifest.files
    )
    assert replace(manifest, files=files).voice_names == ("af_heart",)


@pytest.mark.parametrize("field", ["sha256", "size", "origin", "licence"])
def test_an_edited_manifest_is_refused(manifest: Manifest, field: str) -> None:
    raw = json.loads(manifest.render())
    raw["files"][1][field] = {"sha256": "1" * 64, "size": 21, "origin": "elsewhere", "licence": "MIT"}[field]
    with pytest.raises(ManifestInvalid, match="edited after it was made"):
        Manifest.parse(json.dumps(raw).encode())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "UTF-8 JSON"),
        (b"\xff\xfe", "UTF-8 JSON"),
        (b"[" * 100_000, "UTF-8 JSON"),
        (b"[]", "format"),
        (b'"x"', "format"),
        (b"{}", "format"),
    ],
)
def test_something_else_than_a_manifest_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(ManifestInvalid, match=says):
        Manifest.parse(data)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "expected format 1, found 2"),
        ({"extra": 1}, "expected the fields"),
        ({"files": "x"}, "files should be list"),
        ({"files": [1]}, r"files\[0\]"),
        ({"files": [{"path": "a", "sha256": "b", "size": True, "origin": "", "licence": ""}]}, "size should be int"),
        ({"source": {"name": "x"}}, "source"),
        ({"model": {"name": 1, "version": "", "repository": "", "licence": ""}}, "name should be str"),
    ],
)
def test_a_manifest_of_another_form_is_refused(manifest: Manifest, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ManifestInvalid, match=says):
        Manifest.parse(edited(manifest, **changes))


def test_an_entry_is_found_by_its_path(manifest: Manifest) -> None:
    assert manifest.entry("config.json") == FileEntry("config.json", "0" * 64, 10, "a test", "CC0-1.0")
    assert manifest.entry("model.safetensors") is None
