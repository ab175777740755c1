"""The int8 ONNX export of Kokoro-82M as data: its graph's constants, and what the quantised ones stand for.

The export is onnxruntime's dynamic quantisation of a graph that was traced from kokoro's KModel. A value is
`(quantised - zero point) * scale`: an exact integer and one float32 product, so it is the same on every machine.
`dequantiser` gives these values kokoro's own names, `float_graph` puts them back into the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.errors import CheckpointRefused, SourceMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import GraphProto, ModelProto

LSTM_B, LSTM_SCALES_AND_ZERO_POINTS = 3, slice(8, 12)
"""Inputs of com.microsoft.DynamicQuantizeLSTM: X W R B sequence_lens initial_h initial_c P, W's and R's scale and zero
point (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md)."""
QUANTISED: Final = "_quantized"
"""How the quantiser ends the names of what it quantised."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """`integers` int32, zero point taken off; `scale` float32 that broadcasts to them."""

    integers: NDArray[np.int32]
    scale: NDArray[np.float32]

    @property
    def values(self) -> NDArray[np.float32]:
        return self.integers.astype(np.float32) * self.scale

    def norms(self) -> NDArray[np.float32]:
        """float32 [n]: the Euclidean norm of every slice of the first axis; `scale` is one number."""
        flat = self.integers.reshape(len(self.integers), -1).astype(np.int64)
        return (np.sqrt((flat * flat).sum(axis=1).astype(np.float64)) * float(self.scale.item())).astype(np.float32)


class Int8Export:
    """The graph's constants, by name."""

    def __init__(self, graph: GraphProto) -> None:
        from onnx import numpy_helper

        self.arrays: dict[str, NDArray[Any]] = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
        self._makers = {output: node for node in graph.node for output in node.output}
        self._zero_points = {
            node.input[0]: node.input[2] for node in graph.node if node.op_type == "DequantizeLinear" and node.input[2:]
        }
        self._used: set[str] = set()

    def quantised(self, name: str, zero_point: str) -> Quantised:
        """A tensor quantised as a whole, or along its last axis."""
        self._used.add(name)
        scale = self.arrays[f"{name.removesuffix(QUANTISED)}_scale"]
        return Quantised(self.arrays[name].astype(np.int32) - self.arrays[zero_point].astype(np.int32), scale)

    def dequantised(self, name: str, output: str) -> Quantised:
        """A tensor whose zero point stands at the DequantizeLinear that `output` goes to."""
        return self.quantised(name, self._zero_points[output])

    def weight(self, name: str) -> NDArray[np.float32] | Quantised:
        """The weight of a float operator: a constant, or one that a DequantizeLinear makes."""
        if name in self.arrays:
            return self.arrays[name]
        source = self._makers[name].input[0]
        return self.dequantised(source, source)

    def lstm(self, name: str, scale: str, zero_point: str) -> NDArray[np.float32]:
        """float32 [directions, 4 * hidden, inputs], quantised by direction or by direction and row."""
        self._used.add(name)
        zero, factor = (self.arrays[constant].reshape(2, 1, -1) for constant in (zero_point, scale))
        quantised = Quantised(self.arrays[name].astype(np.int32) - zero.astype(np.int32), factor)
        return quantised.values.transpose(0, 2, 1)

    def unused(self) -> list[str]:
        """Quantised tensors that nobody asked for."""
        return sorted(name for name in self.arrays if name.endswith(QUANTISED) and name not in self._used)


def parse(model: bytes) -> ModelProto:
    """An ONNX model from its bytes. Raises CheckpointRefused, and SourceMissing without the package onnx."""
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise SourceMissing(
            "the Python package onnx is not installed; "
            "install the extra `kokoro-weights[stages]` or `kokoro-weights[safetensors]`"
        ) from error
    try:
        return onnx.load_from_string(model)
    except DecodeError as error:
        raise CheckpointRefused("ONNX export: expected a serialised ONNX model, found something else") from error
