"""Which weights, which engine."""

import shutil
import sys
from pathlib import Path

import pytest
from kokoro_weights import WeightsError, prepare
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


def test_an_engine_that_is_not_installed_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not there, where it is
    assert set(installed_engines()) == {"onnx", "tone"}
    with pytest.raises(
        EngineUnavailable, match=r"which has onnx and tone; install the extra `speech-container\[torch\]`"
    ):
        open_studio(Settings(engine="torch", weights=Path("nowhere")))


@pytest.mark.torch
@pytest.mark.weights
def test_weights_without_safetensors_name_the_command_that_makes_them() -> None:
    assert set(installed_engines()) == {"onnx", "tone", "torch"}
    with pytest.raises(EngineUnavailable, match="kokoro-weights prepare --safetensors --directory DIR"):
        open_studio(Settings(engine="torch", weights=prepare("packages").path))


@pytest.mark.torch
@pytest.mark.weights
def test_a_broken_installation_of_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("speech_container.torch_engine", "speech_container.kokoro_model"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(EngineUnavailable, match=r"cannot be imported.*speech-container\[torch\]"):
        open_studio(Settings(engine="torch"))


@pytest.mark.torch
@pytest.mark.weights
@pytest.mark.timeout(300)
def test_the_packaged_weights_get_safetensors_for_torch() -> None:
    studio = open_studio(Settings(engine="torch"))
    assert studio.engine.name == "torch"
    assert len(studio.narrator.voices.names) == 54


@pytest.mark.weights
def test_the_packaged_weights_are_the_default() -> None:
    studio = open_studio(Settings())
    assert studio.engine.name == "onnx"
    assert len(studio.narrator.voices.names) == 54
    assert {"en-gb", "en-us", "es", "fr", "hi", "it", "pt-br"} <= set(studio.narrator.languages)
    assert len(studio.checks) == 1


@pytest.mark.weights
def test_no_engine_sees_a_model_with_a_wrong_hash(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    shutil.copytree(prepare().path, weights)
    with (weights / "model.int8.onnx").open("r+b") as model:
        model.seek(5000)
        (byte,) = model.read(1)
        model.seek(5000)
        model.write(bytes([byte ^ 1]))
    with pytest.raises(WeightsError, match=r"model\.int8\.onnx: expected sha256"):
        open_studio(Settings(weights=weights))
