"""kokoro's modules from a safetensors file: every parameter filled, or the file refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory, prepare
from safetensors.numpy import load_file, save_file
from speech_container.errors import EngineUnavailable

pytestmark = [pytest.mark.torch, pytest.mark.weights, pytest.mark.timeout(300)]

MAKE_IT = "kokoro-weights prepare --safetensors"


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages", safetensors=True)


@pytest.fixture(scope="module")
def parameters(weights: WeightsDirectory) -> dict[str, Any]:
    assert weights.safetensors_model is not None
    return dict(load_file(weights.safetensors_model))


def load(file: Path, weights: WeightsDirectory) -> Any:
    from speech_container.kokoro_model import load_model

    return load_model(file, weights.config, "cpu")


def test_every_parameter_comes_from_the_file(weights: WeightsDirectory, parameters: dict[str, Any]) -> None:
    assert weights.safetensors_model is not None
    model = load(weights.safetensors_model, weights)
    assert not model.training
    found = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    assert parameters.keys() <= found.keys()
    for name, expected in parameters.items():
        np.testing.assert_array_equal(found[name], expected)
    for name in found.keys() - parameters.keys():  # the instance norms' scale and shift, which are never learned
        assert name.rpartition(".")[0].endswith(".norm")
        assert (found[name] == (1 if name.endswith(".weight") else 0)).all()


def test_nothing_is_unpickled_and_the_random_state_is_left_alone(
    weights: WeightsDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was unpickled")

    for where, name in ((torch, "load"), (pickle, "load"), (pickle, "loads"), (pickle, "Unpickler")):
        monkeypatch.setattr(where, name, refuse)
    before = torch.get_rng_state()
    assert weights.safetensors_model is not None
    load(weights.safetensors_model, weights)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_published_checkpoints_hold_besides_is_ignored(
    weights: WeightsDirectory, parameters: dict[str, Any], tmp_path: Path
) -> None:
    besides = {"bert.pooler.bias": np.zeros(768, np.float32), "bert.embeddings.position_ids": np.zeros(512, np.int64)}
    save_file(parameters | besides, tmp_path / "model.safetensors")
    load(tmp_path / "model.safetensors", weights)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bert_encoder.bias": None}, r"1 are missing \(bert_encoder\.bias\), 0 are unknown"),
        ({"nobody.knows": np.zeros(1)}, r"0 are missing \(\), 1 are unknown \(nobody\.knows\)"),
        ({"bert_encoder.bias": np.zeros(3)}, "size mismatch for bert_encoder.bias"),
    ],
)
def test_other_parameters_are_refused(
    weights: WeightsDirectory, parameters: dict[str, Any], tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    changed = {name: array for name, array in (parameters | change).items() if array is not None}
    save_file(changed, tmp_path / "model.safetensors")
    with pytest.raises(EngineUnavailable, match=says) as caught:
        load(tmp_path / "model.safetensors", weights)
    assert MAKE_IT in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"\x80\x04N."])
def test_a_file_that_is_no_safetensors_is_refused(
    weights: WeightsDirectory, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "model.safetensors"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(EngineUnavailable, match=MAKE_IT):
        load(file, weights)
