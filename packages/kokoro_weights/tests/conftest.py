"""What the tests share: a source of a few bytes, small pins, and directories prepared from them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights.calibration_text import calibration_lines
from kokoro_weights.directory import WeightsDirectory
from kokoro_weights.manifest import MANIFEST_NAME, FileEntry, Manifest, ModelIdentity
from kokoro_weights.preparation import Place, prepare_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from kokoro_weights.progress import Progress
    from kokoro_weights.source import Source
    from kokoro_weights.staging import Staging

type MakeSource = Callable[..., Any]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of committed test data."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def stand_in(data: Path) -> MakeSource:
    """Makes a StandInSource (see data/stand_in.py)."""
    make: MakeSource = runpy.run_path(str(data / "stand_in.py"))["StandInSource"]
    return make


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """An empty place to prepare in."""
    return tmp_path / "cache"


@pytest.fixture
def prepared(stand_in: MakeSource, cache: Path) -> WeightsDirectory:
    """A small directory, prepared and whole."""
    source: Source = stand_in()
    return prepare_from(source, Place(cache))


class _SpeakingSource:
    """Voices of noise and a model of a few bytes, with a vocabulary that holds every phoneme they are asked for."""

    name = "stand-in"

    def __init__(self, voices: tuple[str, ...], seed: int, model: str) -> None:
        self.inputs = f"{voices} {seed} {model}"
        self._voices, self._seed, self._model = voices, seed, model

    def fill(self, staging: Staging, progress: Progress) -> ModelIdentity:
        lines = [line for voice in self._voices for line in calibration_lines(voice)]
        phonemes = sorted({phoneme for line in lines for phoneme in line.phonemes})
        vocabulary = {phoneme: index for index, phoneme in enumerate(phonemes, 1)}
        chance = np.random.default_rng(self._seed)
        files = {
            "config.json": json.dumps({"vocab": vocabulary}).encode(),
            self._model: chance.bytes(100),
            **{f"voices/{voice}.bin": chance.random((510, 256), dtype=np.float32).tobytes() for voice in self._voices},
        }
        for path, data in files.items():
            staging.write(path, [data], origin="a test", licence="CC0-1.0")
        return ModelIdentity("speaking", "1", "none", "CC0-1.0")


@pytest.fixture
def speaking(tmp_path: Path) -> Callable[..., WeightsDirectory]:
    """Makes prepared directories: of which voices, with which random bytes, with which model file."""

    def prepare_one(*voices: str, seed: int = 1, model: str = "model.int8.onnx") -> WeightsDirectory:
        return prepare_from(_SpeakingSource(voices, seed, model), Place(tmp_path / "speaking"))

    return prepare_one


@pytest.fixture
def manifest() -> Manifest:
    """A small manifest that makes sense."""
    entries = {"config.json": 10, "model.int8.onnx": 20, "voices/af_heart.bin": 522240}
    return Manifest(
        model=ModelIdentity("Kokoro-82M", "1.0", "hexgrad/Kokoro-82M", "Apache-2.0"),
        source="stand-in",
        inputs="1",
        files=tuple(FileEntry(path, "0" * 64, size, "a test", "CC0-1.0") for path, size in entries.items()),
    )


@pytest.fixture
def rewrite() -> Callable[[WeightsDirectory, Callable[[FileEntry], FileEntry | None]], None]:
    """Rewrites a directory's manifest consistently: every entry is passed through a function, None drops it."""

    def apply(weights: WeightsDirectory, change: Callable[[FileEntry], FileEntry | None]) -> None:
        old = weights.manifest
        files = tuple(entry for entry in map(change, old.files) if entry is not None)
        new = Manifest(model=old.model, source=old.source, inputs=old.inputs, files=files)
        (weights.path / MANIFEST_NAME).write_bytes(new.render())

    return apply
