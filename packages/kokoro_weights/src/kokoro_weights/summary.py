"""What the command says about prepared weights, as plain data: `--json` prints it, other programs may call it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.language import voice_traits
from kokoro_weights.pins import load

if TYPE_CHECKING:
    from pathlib import Path


def summary(weights: WeightsDirectory) -> dict[str, Any]:
    """What --json says about a prepared directory."""
    manifest = weights.manifest
    plain, noisy = (weights.norm_statistics(noise=noise) for noise in (False, True))
    return {
        "path": str(weights.path),
        "content": manifest.content,
        "source": manifest.source,
        "model": f"{manifest.model.name} {manifest.model.version}",
        "onnx_model": str(weights.onnx_model) if weights.onnx_model else None,
        "safetensors_model": str(weights.safetensors_model) if weights.safetensors_model else None,
        "stages": {name: str(path) for name, path in asdict(weights.stages).items()} if weights.stages else None,
        "voices": len(weights.voice_names),
        "calibrated_voices": len(plain.voices) if plain else 0,
        "calibrated_voices_noise": len(noisy.voices) if noisy else 0,
        "files": len(manifest.files),
        "size_bytes": sum(entry.size_bytes for entry in manifest.files),
    }


def list_voices(directory: Path | None) -> list[dict[str, str]]:
    """The voices of a prepared directory, or the pinned ones: name, tag, language, kind, licence."""
    if directory is None:
        licences = dict.fromkeys(load().voices, load().model.licence)
    else:
        manifest = WeightsDirectory.open(directory).manifest
        by_path = {entry.path: entry.licence for entry in manifest.files}
        licences = {name: by_path[f"voices/{name}.bin"] for name in manifest.voice_names}
    rows = []
    for name, licence in licences.items():
        traits = voice_traits(name)
        rows.append(
            {"name": name, "tag": traits.tag, "language": traits.language, "kind": traits.kind, "licence": licence}
        )
    return rows
