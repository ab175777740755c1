"""The activation as a polynomial: the same curve, and no other sine touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from kokoro_weights.squared_sines import without_sines
from numpy.typing import NDArray
from onnx import ModelProto, helper, numpy_helper

X = Tensor("x", "float32", (1, 2, "n"))
Y = Tensor("y", "float32", (1, 2, "n"))
ALPHA = np.array([[[0.3], [7.0]]], dtype=np.float32)


def activation(exponent: float = 2) -> ModelProto:
    """y = x + sin(αx)^exponent / α, as torch exports it."""
    nodes = [
        helper.make_node("Mul", ["alpha", "x"], ["angle"]),
        helper.make_node("Sin", ["angle"], ["sine"]),
        helper.make_node("Pow", ["sine", "exponent"], ["square"]),
        helper.make_node("Mul", ["reciprocal", "square"], ["scaled"]),
        helper.make_node("Add", ["x", "scaled"], ["y"]),
    ]
    constants: dict[str, NDArray[Any]] = {
        "alpha": ALPHA,
        "exponent": np.array(exponent, dtype=np.float32),
        "reciprocal": 1 / ALPHA,
    }
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "snake", [X.declaration()], [Y.declaration()], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def operators(model: ModelProto) -> list[str]:
    part = cut(model, "part", inputs=[X], outputs=[Y])
    return [node.op_type for node in part.graph.node]


def run(model: ModelProto, x: NDArray[np.float32]) -> NDArray[np.float64]:
    part = cut(model, "part", inputs=[X], outputs=[Y])
    session = onnxruntime.InferenceSession(serialised(part), providers=["CPUExecutionProvider"])
    result: NDArray[np.float32] = session.run(None, {"x": x})[0]
    return result.astype(np.float64)


def test_no_sine_is_left() -> None:
    assert "Sin" in operators(activation())
    assert set(operators(without_sines(activation()))) == {"Mul", "Round", "Sub", "Add"}


@pytest.mark.parametrize("reach", [0.1, 3.0, 40.0])
def test_the_curve_is_the_same_as_far_as_float32_tells(reach: float) -> None:
    x = np.linspace(-reach, reach, 20_001, dtype=np.float32) * np.ones((1, 2, 1), dtype=np.float32)
    exact = x + np.sin(ALPHA.astype(np.float64) * x) ** 2 / ALPHA
    error = np.abs(run(without_sines(activation()), x) - exact) * ALPHA
    rounding = np.abs(run(activation(), x) - exact) * ALPHA
    assert error.max() < 1e-6 + 2 * rounding.max()


def test_zero_stays_zero_exactly() -> None:
    assert not run(without_sines(activation()), np.zeros((1, 2, 3), dtype=np.float32)).any()


def test_another_power_of_a_sine_stays() -> None:
    assert operators(without_sines(activation(3))) == operators(activation(3))


def test_a_sine_of_something_else_stays() -> None:
    model = activation()
    model.graph.node[0].CopyFrom(helper.make_node("Abs", ["x"], ["angle"]))
    assert operators(without_sines(model)) == operators(model)
