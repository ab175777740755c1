"""Graphs are cut where they were meant to be, and nodes replaced without losing what others read."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.graph_surgery import Tensor, cut, replaced, serialised
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

X = Tensor("x", "float32", ("n",))
DOUBLED = Tensor("doubled", "float32", ("n",))
MIDDLE = Tensor("doubled", "float32", ("n",), alias="middle")
Y = Tensor("y", "float32", ("n",))
HALVES = (Tensor("left", "float32", (2,)), Tensor("right", "float32", (2,)))


@pytest.fixture
def model() -> ModelProto:
    """y = 2x + z; left and right are y's halves."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["doubled"], name="double"),
        helper.make_node("Add", ["doubled", "z"], ["y"], name="add"),
        helper.make_node("Split", ["y"], ["left", "right"], name="halve", num_outputs=2),
        helper.make_node("FastGelu", ["x"], ["nobody_reads"], name="idle", domain="com.microsoft"),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("x", "z")]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])]
    constants = [numpy_helper.from_array(floats([2]), "two"), numpy_helper.from_array(floats([9]), "unread")]
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, "whole", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def floats(values: list[float]) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def run(model: ModelProto, **inputs: list[float]) -> list[NDArray[np.float32]]:
    checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(serialised(model), providers=["CPUExecutionProvider"])
    return list(session.run(None, {name: floats(values) for name, values in inputs.items()}))


def test_two_parts_do_what_the_whole_does(model: ModelProto) -> None:
    front = cut(model, "front", inputs=[X], outputs=[MIDDLE])
    back = cut(model, "back", inputs=[MIDDLE, Tensor("z", "float32", ("n",))], outputs=[Y])
    (middle,) = run(front, x=[1, 2])
    (y,) = run(back, middle=[*middle], z=[10, 20])
    np.testing.assert_array_equal(y, run(model, x=[1, 2], z=[10, 20])[0])


def test_a_part_has_what_it_needs_and_nothing_else(model: ModelProto) -> None:
    part = cut(model, "front", inputs=[X], outputs=[DOUBLED])
    assert [node.name for node in part.graph.node] == ["double"]
    assert [tensor.name for tensor in part.graph.initializer] == ["two"]
    assert [entry.domain for entry in part.opset_import] == [""]
    assert part.graph.name == "front"


def test_a_tensor_in_the_middle_may_be_put_out_too(model: ModelProto) -> None:
    part = cut(model, "both", inputs=[X, Tensor("z", "float32", ("n",))], outputs=[Y, MIDDLE])
    y, middle = run(part, x=[1], z=[5])
    assert (y.item(), middle.item()) == (7, 2)


def test_the_whole_graph_stays_what_it_was(model: ModelProto) -> None:
    before = serialised(model)
    cut(model, "front", inputs=[X], outputs=[MIDDLE])
    replaced(model, {"y": [helper.make_node("Neg", ["doubled"], ["y"])]}, {})
    assert serialised(model) == before


def test_the_bytes_are_the_same_each_time(model: ModelProto) -> None:
    first, second = (serialised(cut(model, "front", inputs=[X], outputs=[MIDDLE])) for _ in range(2))
    assert first == second


def test_a_part_that_needs_another_input_is_refused(model: ModelProto) -> None:
    with pytest.raises(CheckpointRefused, match="part needs z, which is not one of its inputs"):
        cut(model, "part", inputs=[X], outputs=[Y])


def test_an_output_that_nothing_makes_is_refused(model: ModelProto) -> None:
    with pytest.raises(CheckpointRefused, match="part needs lost"):
        cut(model, "part", inputs=[X], outputs=[Tensor("lost", "float32", ())])


def test_an_input_that_is_not_needed_is_refused(model: ModelProto) -> None:
    with pytest.raises(CheckpointRefused, match="part does not need its input x"):
        cut(model, "part", inputs=[X, DOUBLED, Tensor("z", "float32", ("n",))], outputs=[Y])


def test_a_tensor_is_made_by_other_nodes(model: ModelProto) -> None:
    nodes = [helper.make_node("Neg", ["doubled"], ["minus"]), helper.make_node("Add", ["minus", "three"], ["y"])]
    changed = replaced(model, {"y": nodes}, {"three": floats([3])})
    (y,) = run(cut(changed, "part", inputs=[X], outputs=[Y]), x=[1])
    assert y.item() == 1


def test_a_constant_takes_the_place_of_a_tensor(model: ModelProto) -> None:
    changed = replaced(model, {"doubled": []}, {"doubled": floats([100])})
    (y,) = run(cut(changed, "part", inputs=[Tensor("z", "float32", ("n",))], outputs=[Y]), z=[1])
    assert y.item() == 101


def test_a_node_of_two_outputs_is_replaced_whole_or_not_at_all(model: ModelProto) -> None:
    left = helper.make_node("Identity", ["two"], ["left"])
    with pytest.raises(CheckpointRefused, match="nothing makes right any more in place of halve"):
        replaced(model, {"left": [left]}, {})
    changed = replaced(model, {"left": [left], "right": [helper.make_node("Identity", ["two"], ["right"])]}, {})
    assert len(cut(changed, "part", inputs=[], outputs=HALVES).graph.node) == 2


def test_what_nothing_makes_cannot_be_replaced(model: ModelProto) -> None:
    with pytest.raises(CheckpointRefused, match="expected a node that makes lost, found none"):
        replaced(model, {"lost": []}, {})


def test_a_constant_does_not_change_another_one(model: ModelProto) -> None:
    with pytest.raises(CheckpointRefused, match="the constant two is there already"):
        replaced(model, {}, {"two": floats([3])})
