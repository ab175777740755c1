"""Cutting an ONNX graph at named tensors, and putting other nodes in place of some: the two operations of our stages.

    whole = replaced(model, {"y": [helper.make_node("Add", ["x", "b"], ["y"])]}, {"b": numpy.float32([1.0])})
    part = cut(whole, "front", inputs=[Tensor("x", "float32", (1, "samples"))], outputs=[Tensor("y", "float32", (1,))])

Both leave their argument alone and keep the nodes' order, which is topological in every valid graph. `cut` keeps what
the outputs need and nothing else, so whatever a replacement left without a reader goes there. The result depends on
the arguments alone: the same bytes on every machine (see `serialised`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kokoro_weights.errors import CheckpointRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, ValueInfoProto


@dataclass(frozen=True, slots=True)
class Tensor:
    """A point where a graph is cut. `name`: in the whole graph; `alias`: in the part, where it should be another one.

    `shape`: a number, or a name, for each dimension.
    """

    name: str
    kind: Literal["float32", "int64"]
    shape: tuple[int | str, ...]
    alias: str = ""

    @property
    def part_name(self) -> str:
        """What the part calls it."""
        return self.alias or self.name

    def declaration(self) -> ValueInfoProto:
        """The entry of the part's inputs or outputs."""
        from onnx import TensorProto, helper

        kind = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}[self.kind]
        return helper.make_tensor_value_info(self.part_name, kind, self.shape)


def replaced(
    model: ModelProto, makers: Mapping[str, Sequence[NodeProto]], constants: Mapping[str, NDArray[Any]]
) -> ModelProto:
    """`model` where each tensor of `makers` is made by those nodes instead, at the place of the node that made it.

    `constants` are added; one may take the place of a tensor whose new makers are none. Raises CheckpointRefused where
    no node makes a tensor of `makers`, where what a replaced node made is no longer made, and where a constant has the
    name of one that is there.
    """
    from onnx import numpy_helper

    result = _shell(model, model.graph.name)
    missing = dict(makers)
    for node in model.graph.node:
        new = [output for output in node.output if output in makers]
        if not new:
            result.graph.node.append(node)
            continue
        nodes = [maker for output in new for maker in missing.pop(output)]
        made = {output for maker in nodes for output in maker.output} | constants.keys()
        if lost := sorted(set(node.output) - made):
            raise CheckpointRefused(f"ONNX graph: nothing makes {lost[0]} any more in place of {node.name}")
        result.graph.node.extend(nodes)
    if missing:
        raise CheckpointRefused(f"ONNX graph: expected a node that makes {min(missing)}, found none")
    if known := sorted(constants.keys() & {tensor.name for tensor in model.graph.initializer}):
        raise CheckpointRefused(f"ONNX graph: the constant {known[0]} is there already")
    result.graph.input.extend(model.graph.input)
    result.graph.output.extend(model.graph.output)
    result.graph.initializer.extend(model.graph.initializer)
    result.graph.initializer.extend(
        numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()
    )
    return result


def cut(model: ModelProto, name: str, *, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> ModelProto:
    """The part of `model` that makes `outputs` from `inputs`, called `name`.

    Raises CheckpointRefused where an output cannot be made from the inputs and constants alone (it needs another input
    of the whole graph, or is not in the graph), or does not need one of the inputs: then the cut is another one than
    was meant.
    """
    aliases = {tensor.name: tensor.part_name for tensor in (*inputs, *outputs)}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    given = {tensor.name for tensor in inputs}
    nodes, read = _needed(model.graph.node, given, {tensor.name for tensor in outputs})
    made = {output for node in nodes for output in node.output}
    if unmade := sorted(read - made - given - constants.keys()):
        raise CheckpointRefused(f"ONNX graph: {name} needs {unmade[0]}, which is not one of its inputs")
    if idle := sorted(given - read):
        raise CheckpointRefused(f"ONNX graph: {name} does not need its input {idle[0]}")
    result = _shell(model, name)
    result.graph.input.extend(tensor.declaration() for tensor in inputs)
    result.graph.output.extend(tensor.declaration() for tensor in outputs)
    result.graph.node.extend(nodes)
    for node in result.graph.node:
        node.input[:] = [aliases.get(tensor, tensor) for tensor in node.input]
        node.output[:] = [aliases.get(tensor, tensor) for tensor in node.output]
    result.graph.initializer.extend(tensor for key, tensor in constants.items() if key in read - given)
    _declare_domains(result, model)
    return result


def joined(model: ModelProto, tensors: Mapping[str, Sequence[str]]) -> ModelProto:
    """`model` with new tensors, each of which is others one after the other along their channels."""
    from onnx import helper

    result = replaced(model, {}, {})
    for tensor, parts in tensors.items():
        result.graph.node.append(helper.make_node("Concat", parts, [tensor], name=tensor, axis=1))
    return result


def serialised(model: ModelProto) -> bytes:
    """The model's bytes: a graph has no maps, so protobuf writes the same ones everywhere."""
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _needed(nodes: Iterable[NodeProto], given: set[str], outputs: set[str]) -> tuple[list[NodeProto], set[str]]:
    """The nodes that the outputs need, in order, and every tensor that is read or put out."""
    read = set(outputs)
    kept: list[NodeProto] = []
    for node in reversed(list(nodes)):
        if any(output in read and output not in given for output in node.output):
            kept.append(node)
            read.update(tensor for tensor in node.input if tensor)
    return kept[::-1], read


def _shell(model: ModelProto, name: str) -> ModelProto:
    """A model without nodes, of the same versions."""
    from onnx import ModelProto

    shell = ModelProto()
    shell.ir_version = model.ir_version
    shell.opset_import.extend(model.opset_import)
    shell.graph.name = name
    return shell


def _declare_domains(part: ModelProto, whole: ModelProto) -> None:
    """Declare the operator sets that the part uses, and no others."""
    used = {node.domain for node in part.graph.node}
    del part.opset_import[:]
    part.opset_import.extend(entry for entry in whole.opset_import if entry.domain in used)
