"""What is said about prepared weights is what their manifest says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kokoro_weights.summary import list_voices, summary

if TYPE_CHECKING:
    from kokoro_weights.directory import WeightsDirectory


def test_the_voices_of_a_directory_have_its_licences(prepared: WeightsDirectory) -> None:
    voices = [(voice["name"], voice["tag"], voice["licence"]) for voice in list_voices(prepared.path)]
    assert voices == [("af_heart", "en-US", "CC0-1.0"), ("bm_george", "en-GB", "CC0-1.0")]


def test_the_summary_counts_every_file_but_the_manifest(prepared: WeightsDirectory) -> None:
    files = [path for path in prepared.path.rglob("*") if path.is_file() and path.name != "manifest.json"]
    found = summary(prepared)
    assert found["files"] == len(files)
    assert found["size_bytes"] == sum(path.stat().st_size for path in files)
