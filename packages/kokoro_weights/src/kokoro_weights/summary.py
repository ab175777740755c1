"""What the command says about prepared weights, as plain data: `--json` prints it, other programs may call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.language import voice_traits
from kokoro_weights.pins import load

if TYPE_CHECKING:
    from pathlib import Path


def summary(weights: WeightsDirectory) -> dict[str, Any]:
    """What --json says about a prepared directory."""
    manifest = weights.manifest
    return {
        "path": str(weights.path),
        "content": manifest.content,
        "source": manifest.source,
        "model": f"{manifest.model.name} {manifest.model.version}",
        "onnx_model": str(weights.onnx_model) if weights.onnx_model else None,
        "safetensors_model": str(weights.safetensors_model) if weights.safetensors_model else None,
        "text_stage": str(weights.text_stage) if weights.text_stage else None,
        "frame_stage": str(weights.frame_stage) if weights.frame_stage else None,
        "voices": len(weights.voice_names),
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
