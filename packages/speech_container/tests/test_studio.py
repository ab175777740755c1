"""Which weights, which engine."""

import platform
import shutil
import sys
from pathlib import Path

import pytest
from kokoro_weights import WeightsError, prepare
from speech_container.errors import EngineUnavailable
from speech_container.settings import Settings
from speech_container.studio import open_studio, with_engine

linux_x86 = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the lock has no openvino for this platform"
)


def test_the_tone_engine_needs_no_weights(tmp_path: Path) -> None:
    studio = open_studio(Settings(engine="tone", weights=tmp_path))
    assert studio.engine.name == "tone"
    assert "af_heart" in studio.narrator.voices.names


def test_a_directory_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError):
        open_studio(Settings(weights=tmp_path))


def test_an_engine_that_is_not_installed_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not there, where it is
    with pytest.raises(
        EngineUnavailable, match=r"which has .*onnx and tone; install the extra `speech-container\[torch\]`"
    ):
        open_studio(Settings(engine="torch", weights=Path("nowhere")))


@pytest.mark.torch
@pytest.mark.weights
def test_weights_without_safetensors_name_the_command_that_makes_them() -> None:
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


@pytest.mark.torch
@pytest.mark.weights
def test_graphs_are_an_engine_of_their_own_name() -> None:
    assert open_studio(Settings(engine="torch-graphs")).engine.name == "torch-graphs"


@pytest.mark.weights
def test_the_packaged_weights_are_the_default() -> None:
    studio = open_studio(Settings())
    assert studio.engine.name == with_engine(Settings()).engine
    assert len(studio.narrator.voices.names) == 54
    assert {"en-gb", "en-us", "es", "fr", "hi", "it", "pt-br"} <= set(studio.narrator.languages)
    assert len(studio.checks) == 1


def test_auto_becomes_an_engine_of_its_own_and_what_is_named_stays() -> None:
    assert with_engine(Settings()).engine in {"openvino", "onnx"}
    assert with_engine(Settings(engine="onnx")).engine == "onnx"


@pytest.mark.weights
@linux_x86
def test_the_packaged_weights_get_stages_for_openvino() -> None:
    studio = open_studio(Settings(engine="openvino"))
    assert studio.engine.name == "openvino"
    assert studio.engine.latencies == ("exact", "low")


@pytest.mark.weights
def test_onnx_gets_stages_where_every_answer_is_to_be_low() -> None:
    assert open_studio(Settings(engine="onnx")).engine.latencies == ("exact",)
    assert open_studio(Settings(engine="onnx", latency="low")).engine.latencies == ("exact", "low")


@pytest.mark.weights
@linux_x86
def test_weights_without_stages_name_the_command_that_makes_them() -> None:
    with pytest.raises(EngineUnavailable, match="kokoro-weights prepare --directory DIR"):
        open_studio(Settings(engine="openvino", weights=prepare("packages").path))


@pytest.mark.weights
def test_weights_without_stages_are_spoken_by_onnx() -> None:
    assert open_studio(Settings(weights=prepare("packages").path)).engine.name == "onnx"


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
