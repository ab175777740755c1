"""Which weights, which engine."""

from pathlib import Path

import pytest
from kokoro_weights import WeightsError
from speech_container.errors import EngineUnavailable
from speech_container.settings import Settings
from speech_container.studio import installed_engines, open_studio


def test_the_tone_engine_needs_no_weights(tmp_path: Path) -> None:
    studio = open_studio(Settings(engine="tone", weights=tmp_path))
    assert studio.engine.name == "tone"
    assert "af_heart" in studio.narrator.voices.names


def test_a_directory_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError):
        open_studio(Settings(weights=tmp_path))


def test_an_engine_that_is_not_installed_is_named_with_those_that_are() -> None:
    assert set(installed_engines()) == {"onnx", "tone"}
    with pytest.raises(EngineUnavailable, match="which has onnx and tone"):
        open_studio(Settings(engine="torch", weights=Path("nowhere")))


@pytest.mark.weights
def test_the_packaged_weights_are_the_default() -> None:
    studio = open_studio(Settings())
    assert studio.engine.name == "onnx"
    assert len(studio.narrator.voices.names) == 54
    assert {"en-gb", "en-us"} <= set(studio.narrator.languages)
    assert len(studio.checks) == 2
