"""The int8 graph in float32: it gives what onnxruntime gives for the quantised one, where that loses nothing."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.float_graph import float_graph
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from onnx import ModelProto, checker, helper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

EXACT = ("convolved", "plain", "product", "looked", "upsampled")


@pytest.fixture(scope="module")
def small(data: Path) -> dict[str, Any]:
    """The names of data/quantised_graph.py."""
    return runpy.run_path(str(data / "quantised_graph.py"))


@pytest.fixture(scope="module")
def quantised(small: dict[str, Any]) -> Callable[..., ModelProto]:
    make: Callable[..., ModelProto] = small["quantised_graph"]
    return make


@pytest.fixture(scope="module")
def part(small: dict[str, Any], quantised: Callable[..., ModelProto]) -> ModelProto:
    """The float graph without what nothing reads any more."""
    given = [Tensor(name, "float32", shape) for name, shape in small["INPUTS"].items()]
    outputs = [Tensor(name, "float32", ("a", "b", "c")) for name in EXACT]
    outputs.append(Tensor("spoken", "float32", ("n", 2, 1, small["HIDDEN"])))
    whole = float_graph(serialised(quantised()))
    return cut(whole, "part", inputs=[*given, Tensor("tokens", "int64", (1, "n"))], outputs=outputs)


@pytest.fixture(scope="module")
def results(quantised: Callable[..., ModelProto], part: ModelProto) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs of the quantised graph and of the float graph."""
    random = np.random.default_rng(3)
    whole_numbers = random.integers(0, 256, (1, 3, 12)).astype(np.float32)
    whole_numbers[0, 0, :2] = 0, 255
    feed = {
        "signal": whole_numbers,
        "rows": whole_numbers.transpose(0, 2, 1),
        "steps": whole_numbers.transpose(2, 0, 1) / 255,
        "tokens": np.array([[0, 4, 2]], dtype=np.int64),
    }
    return run(quantised(), [*EXACT, "spoken"], feed), run(part, [*EXACT, "spoken"], feed)


def run(model: ModelProto, outputs: Sequence[str], feed: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    session = onnxruntime.InferenceSession(serialised(model), providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(list(outputs), feed), strict=True))


@pytest.mark.parametrize("output", EXACT)
def test_what_is_quantised_without_loss_stays_the_same(
    results: tuple[dict[str, Any], dict[str, Any]], output: str
) -> None:
    quantised, floating = results
    assert np.ptp(quantised[output]) > 1, "it must depend on its input"
    np.testing.assert_allclose(floating[output], quantised[output], rtol=1e-6)


def test_an_lstm_differs_only_by_the_rounding_of_its_inputs(results: tuple[dict[str, Any], dict[str, Any]]) -> None:
    quantised, floating = results
    assert np.ptp(quantised["spoken"]) > 0.5
    np.testing.assert_allclose(floating["spoken"], quantised["spoken"], atol=0.01)


def test_nothing_quantised_is_left(part: ModelProto) -> None:
    checker.check_model(part, full_check=True)
    operators = {node.op_type for node in part.graph.node}
    assert operators == {"Conv", "MatMul", "Gather", "ConvTranspose", "LSTM"}
    assert {tensor.data_type for tensor in part.graph.initializer} == {1}
    assert [entry.domain for entry in part.opset_import] == [""]


def test_a_weight_that_no_operator_uses_is_refused(quantised: Callable[..., ModelProto]) -> None:
    model = quantised(lost_quantized=np.zeros(1, dtype=np.int8))
    with pytest.raises(CheckpointRefused, match=r"1 quantised tensors belong to no operator \(lost_quantized\)"):
        float_graph(serialised(model))


def test_a_chain_of_another_form_is_refused(quantised: Callable[..., ModelProto]) -> None:
    model = quantised()
    model.graph.node.append(helper.make_node("Neg", ["plain_int"], ["other"], name="another reader"))
    with pytest.raises(CheckpointRefused, match="make plain_int is not what the quantiser writes"):
        float_graph(serialised(model))


def test_an_integer_bias_without_its_float_is_refused(quantised: Callable[..., ModelProto]) -> None:
    model = quantised()
    (bias,) = (tensor for tensor in model.graph.initializer if tensor.name == "bias")
    bias.name = "renamed"
    with pytest.raises(CheckpointRefused, match="make convolved_int is not what the quantiser writes"):
        float_graph(serialised(model))
