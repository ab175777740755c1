"""The int8 export becomes kokoro's parameters: every form that a weight takes, and the real model as a whole."""

from __future__ import annotations

import hashlib
import runpy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights import prepare
from kokoro_weights.dequantiser import dequantise
from kokoro_weights.digest import Digest
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.pins import load
from safetensors.numpy import save

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

LAYER = "bert.encoder.albert_layer_groups.0.albert_layers.0"


@pytest.fixture(scope="module")
def small(data: Path) -> dict[str, Any]:
    """The names of data/small_export.py."""
    return runpy.run_path(str(data / "small_export.py"))


@pytest.fixture(scope="module")
def parameters(small: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
    return dequantise(small["small_export"]().SerializeToString())


def test_every_parameter_has_the_name_of_the_checkpoint(parameters: dict[str, NDArray[np.float32]]) -> None:
    lstm = [
        f"{name}_l0{side}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh") for side in ("", "_reverse")
    ]
    assert set(parameters) == {
        "text_encoder.embedding.weight",
        f"{LAYER}.ffn.weight",
        "decoder.generator.m_source.l_linear.weight",
        "text_encoder.cnn.0.0.weight_g",
        "text_encoder.cnn.0.0.weight_v",
        "predictor.F0_proj.weight",
        "decoder.generator.ups.0.weight_g",
        "decoder.generator.ups.0.weight_v",
        "decoder.generator.conv_post.weight_g",
        "decoder.generator.conv_post.weight_v",
        "predictor.F0.0.conv1.bias",
        *(f"predictor.shared.{name}" for name in lstm),
    }
    assert {array.dtype for array in parameters.values()} == {np.dtype(np.float32)}
    assert all(array.flags.c_contiguous for array in parameters.values())


def test_a_matrix_is_scaled_by_output_and_transposed(parameters: dict[str, NDArray[np.float32]]) -> None:
    np.testing.assert_array_equal(parameters[f"{LAYER}.ffn.weight"], [[1, -4], [10, 40], [300, -600]])


def test_tables_plain_convolutions_and_what_was_never_quantised(
    small: dict[str, Any], parameters: dict[str, NDArray[np.float32]]
) -> None:
    np.testing.assert_array_equal(parameters["text_encoder.embedding.weight"], [[0.5, -1], [1.5, 2], [0, 63.5]])
    np.testing.assert_array_equal(parameters["predictor.F0_proj.weight"], [[[-127, 127]]])
    np.testing.assert_array_equal(parameters["decoder.generator.m_source.l_linear.weight"], small["SOURCE"].T)
    np.testing.assert_array_equal(parameters["predictor.F0.0.conv1.bias"], small["BIAS"])


@pytest.mark.parametrize("name", ["text_encoder.cnn.0.0", "decoder.generator.conv_post"])
def test_a_channel_that_rounded_to_zero_is_zero_and_not_nothing(
    parameters: dict[str, NDArray[np.float32]], name: str
) -> None:
    g, v = parameters[f"{name}.weight_g"], parameters[f"{name}.weight_v"]
    np.testing.assert_array_equal(v, [[[0.75, -1]], [[1, 1]], [[0, 31.75]]])
    np.testing.assert_array_equal(g, [[[1.25]], [[0]], [[31.75]]])
    weight = v * (g / np.linalg.norm(v, axis=(1, 2), keepdims=True))  # as weight norm puts it together
    np.testing.assert_allclose(weight, np.array([[[0.75, -1]], [[0, 0]], [[0, 31.75]]]), rtol=1e-6)


def test_a_float_convolution_is_normed_alike(parameters: dict[str, NDArray[np.float32]]) -> None:
    np.testing.assert_array_equal(parameters["decoder.generator.ups.0.weight_g"], [[[5]], [[0]]])
    np.testing.assert_array_equal(parameters["decoder.generator.ups.0.weight_v"], [[[3, 4]], [[1, 1]]])


def test_the_gates_of_an_lstm_are_in_torchs_order(
    small: dict[str, Any], parameters: dict[str, NDArray[np.float32]]
) -> None:
    rows = [0, 1, 4, 5, 6, 7, 2, 3]  # i o f c of two units each, as i f c o
    for direction, suffix, scale in ((0, "", 0.5), (1, "_reverse", 2.0)):
        inputs = small["LSTM_W"][direction].T.astype(np.float32) * np.float32(scale)
        np.testing.assert_array_equal(parameters[f"predictor.shared.weight_ih_l0{suffix}"], inputs[rows])
        hidden = small["LSTM_R"][direction].T.astype(np.float32)
        np.testing.assert_array_equal(parameters[f"predictor.shared.weight_hh_l0{suffix}"], hidden[rows])
        of_inputs, of_hidden = np.split(small["LSTM_B"][direction], 2)
        np.testing.assert_array_equal(parameters[f"predictor.shared.bias_ih_l0{suffix}"], of_inputs[rows])
        np.testing.assert_array_equal(parameters[f"predictor.shared.bias_hh_l0{suffix}"], of_hidden[rows])


def test_two_values_for_one_parameter_are_refused(small: dict[str, Any]) -> None:
    again = small["node"]("MatMul", f"{small['LAYER']}/ffn_2/MatMul", "x", "source")
    with pytest.raises(CheckpointRefused, match=r"one value of .*\.ffn\.weight, found two"):
        dequantise(small["small_export"](again).SerializeToString())


def test_a_weight_that_no_node_names_is_refused(small: dict[str, Any]) -> None:
    model = small["small_export"](lost_quantized=np.zeros(1, dtype=np.int8))
    with pytest.raises(CheckpointRefused, match=r"1 quantised tensors belong to no parameter \(lost_quantized\)"):
        dequantise(model.SerializeToString())


def test_a_weight_without_its_scale_is_refused(small: dict[str, Any]) -> None:
    lone = small["node"]("MatMulInteger", "/encoder/bert_encoder/MatMul_quant", "x", "lone_quantized", "xz", "zero")
    model = small["small_export"](lone, lone_quantized=np.ones((1, 1), dtype=np.int8))
    with pytest.raises(CheckpointRefused, match="/encoder/bert_encoder/MatMul_quant is not what the quantiser writes"):
        dequantise(model.SerializeToString())


@pytest.mark.weights
def test_the_real_export_becomes_the_pinned_model() -> None:
    export = prepare("packages").onnx_model
    assert export is not None
    parameters = dequantise(export.read_bytes())
    assert len(parameters) == 546
    assert sum(array.size for array in parameters.values()) == 81_172_818
    assert all(np.isfinite(array).all() for array in parameters.values())
    norms = {name: array for name, array in parameters.items() if name.endswith(".weight_g")}
    zeros = sum(int((array == 0).sum()) for array in norms.values())
    assert zeros > 0, "the real model has channels that rounded to zero"
    data = save(parameters, metadata={"format": "pt"})
    assert Digest(hashlib.sha256(data).hexdigest(), len(data)) == load().dequantised
