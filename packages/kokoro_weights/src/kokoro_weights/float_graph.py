"""The int8 ONNX export as the same graph in float32: what can be cut into stages and run at any precision.

Dynamic quantisation put a chain that quantises its input at run time where the traced graph had a Conv or MatMul:

    x → DynamicQuantizeLinear → ConvInteger → (Add an integer bias) → Cast → Mul by both scales → y

Here `y` is made by a Conv from `x` again, with the weight de-quantised once and the float bias, which the graph still
has under its own name. An LSTM is put back alike; embedding tables and the few weights behind a DequantizeLinear become
constants. Inputs are never rounded any more, so the audio is a little nearer to that of the published weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.graph_surgery import replaced
from kokoro_weights.int8_export import LSTM_B, LSTM_SCALES_AND_ZERO_POINTS, QUANTISED, Int8Export, Quantised, parse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

FLOAT: Final = "_float"
"""What the names of de-quantised constants end in."""
_INTEGER: Final = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}
_LSTM_FLOAT: Final = slice(LSTM_B, 7)
"""Inputs that DynamicQuantizeLSTM and LSTM share after X, W and R: B, sequence_lens, initial_h, initial_c."""


def float_graph(export: bytes) -> ModelProto:
    """The graph of an int8 export in float32, with the export's inputs, outputs and tensor names.

    What only quantisation needed is still in it, unread; `graph_surgery.cut` leaves it out. Raises CheckpointRefused
    where it is not such an export, and SourceMissing without the package onnx.
    """
    model = parse(export)
    rewriter = _Rewriter(model)
    for node in model.graph.node:
        try:
            rewriter.take(node)
        except (LookupError, ValueError) as error:
            raise CheckpointRefused(f"ONNX export: {node.name} is not what the quantiser writes") from error
    if unused := rewriter.export.unused():
        raise CheckpointRefused(f"ONNX export: {len(unused)} quantised tensors belong to no operator ({unused[0]})")
    return replaced(model, rewriter.makers, rewriter.constants)


class _Rewriter:
    """Collects what makes which tensor in the float graph."""

    def __init__(self, model: ModelProto) -> None:
        self.export = Int8Export(model.graph)
        self.makers: dict[str, list[NodeProto]] = {}
        self.constants: dict[str, NDArray[Any]] = {}
        self._source = {output: node for node in model.graph.node for output in node.output}
        self._readers: dict[str, list[NodeProto]] = {}
        for node in model.graph.node:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)

    def take(self, node: NodeProto) -> None:
        match node.op_type:
            case "ConvInteger" | "MatMulInteger":
                self._product(node)
            case "DynamicQuantizeLSTM":
                self._lstm(node)
            case "DequantizeLinear":
                self._dequantised(node)
            case _:
                return

    def _product(self, node: NodeProto) -> None:
        """The whole chain from the float input to the scaled output, as one operator."""
        from onnx import helper

        quantiser = self._source[node.input[0]]
        weight = self._constant(node.input[1], self.export.quantised(node.input[1], node.input[3]))
        inputs = [quantiser.input[0], weight]
        (reader,) = self._readers[node.output[0]]
        if reader.op_type == "Add":
            inputs.append(self._bias(reader.input[1]))
            (reader,) = self._readers[reader.output[0]]
        (scaled,) = self._readers[reader.output[0]]
        if (quantiser.op_type, reader.op_type, scaled.op_type) != ("DynamicQuantizeLinear", "Cast", "Mul"):
            raise ValueError(node.name)
        output = scaled.output[0]
        operator = helper.make_node(_INTEGER[node.op_type], inputs, [output], name=node.name + FLOAT)
        operator.attribute.extend(node.attribute)
        self.makers[output] = [operator]

    def _bias(self, name: str) -> str:
        """The float bias that an integer one is made from at run time: Cast and Reshape of `<bias>_quantized`."""
        bias: str = self._source[name].input[0].removesuffix(QUANTISED)
        if bias not in self.export.arrays:
            raise ValueError(name)
        return bias

    def _lstm(self, node: NodeProto) -> None:
        from onnx import helper

        inputs = node.input
        w_scale, w_zero_point, r_scale, r_zero_point = inputs[LSTM_SCALES_AND_ZERO_POINTS]
        w = self._constant(inputs[1], self.export.lstm(inputs[1], w_scale, w_zero_point))
        r = self._constant(inputs[2], self.export.lstm(inputs[2], r_scale, r_zero_point))
        operator = helper.make_node(
            "LSTM", [inputs[0], w, r, *inputs[_LSTM_FLOAT]], node.output, name=node.name + FLOAT
        )
        operator.attribute.extend(node.attribute)
        self.makers[node.output[0]] = [operator]

    def _dequantised(self, node: NodeProto) -> None:
        """A constant, or what was looked up in one."""
        from onnx import helper

        quantised, output = node.input[0], node.output[0]
        lookup = self._source.get(quantised)
        if lookup is None:
            self.constants[output] = self.export.dequantised(quantised, quantised).values
            self.makers[output] = []
            return
        if lookup.op_type != "Gather":
            raise ValueError(node.name)
        table = self._constant(lookup.input[0], self.export.dequantised(lookup.input[0], quantised))
        operator = helper.make_node("Gather", [table, lookup.input[1]], [output], name=lookup.name + FLOAT)
        operator.attribute.extend(lookup.attribute)
        self.makers[output] = [operator]

    def _constant(self, name: str, values: NDArray[np.float32] | Quantised) -> str:
        """Keep the values of the quantised constant `name`, once, and say under which name."""
        new = name.removesuffix(QUANTISED) + FLOAT
        if new not in self.constants:
            self.constants[new] = values.values if isinstance(values, Quantised) else values
        return new
