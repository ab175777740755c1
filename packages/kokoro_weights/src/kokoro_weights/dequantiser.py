"""The int8 ONNX export's weights as float32 parameters under kokoro's own names: what an engine on torch loads.

The export (onnxruntime's dynamic quantisation of a graph traced from kokoro's KModel) keeps each parameter in one of
these forms:

- as it was, under its own name: biases, norms, alphas;
- as the int8 (or, where small, float) second input of a matrix product, or the table of a Gather, named or not. The
  node's name says which module was traced: `/encoder/bert/.../query/MatMul_quant` is `bert...query.weight`;
- as the uint8 weight of a ConvInteger, or the float weight of a Conv or ConvTranspose, with the weight norm folded in;
- as the int8 W and R of a DynamicQuantizeLSTM, whose gates ONNX orders i o f c, and torch i f c o.

The values are those of `int8_export`, the same on every machine. Folded convolutions are given back as weight norm has
them, v = w and g = |w| for each slice of the first axis. The norms are made of exact sums (of integers, or by
`math.fsum`), so they do not depend on the order of summation either, and the result has one SHA-256. A slice that
rounded to zero has g = 0 and v = 1: v = 0 would make torch divide zero by zero.

What no forward pass needs is not in the graph: the scale and shift (1 and 0) of the instance norms, ALBERT's pooler.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.int8_export import LSTM_B, LSTM_SCALES_AND_ZERO_POINTS, QUANTISED, Int8Export, Quantised, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnx import GraphProto, NodeProto

_WITHOUT_WEIGHT_NORM: Final = re.compile(r"(noise_convs\.\d|F0_proj|N_proj)$")
"""kokoro/istftnet.py and kokoro/modules.py build every other convolution with `weight_norm`."""
_TRACED_IN_METHOD: Final = re.compile(r"(F0|N)(\.\d|_proj)|shared$")
"""Called in ProsodyPredictor.F0Ntrain, which is not a module's forward: the trace leaves `predictor` out."""
_NOT_PARAMETERS: Final = ("_scale", "_zero_point", "_shape", QUANTISED)


def dequantise(model: bytes) -> dict[str, NDArray[np.float32]]:
    """The parameters of an int8 export by name, as `hub` names them: `bert.encoder.embedding_hidden_mapping_in.weight`.

    Raises CheckpointRefused where it is not such an export, and SourceMissing without the package onnx.
    """
    graph = parse(model).graph
    export = Int8Export(graph)
    parameters: dict[str, NDArray[np.float32]] = {}
    for name, array in (*_kept(export), *_traced(graph, export)):
        known = parameters.setdefault(name, np.ascontiguousarray(array, dtype=np.float32))
        if not np.array_equal(known, array):  # ALBERT runs one layer twelve times: the same weights each time
            raise CheckpointRefused(f"ONNX export: expected one value of {name}, found two")
    if unused := export.unused():
        raise CheckpointRefused(f"ONNX export: {len(unused)} quantised tensors belong to no parameter ({unused[0]})")
    return parameters


def _kept(export: Int8Export) -> Iterator[tuple[str, NDArray[Any]]]:
    """Parameters that kept name and values. The STFT's are constants of its own, not parameters of KModel."""
    for name, array in export.arrays.items():
        side, _, rest = name.partition(".")
        if side in {"encoder", "decoder"} and ".stft." not in name and not name.endswith(_NOT_PARAMETERS):
            yield rest, array


def _traced(graph: GraphProto, export: Int8Export) -> Iterator[tuple[str, NDArray[Any]]]:
    """Parameters that are named by the node that uses them."""
    for node in graph.node:
        module = _module(node.name)
        if module is not None:
            try:
                yield from _of_node(node, module, export)
            except (LookupError, ValueError) as error:
                raise CheckpointRefused(f"ONNX export: {node.name} is not what the quantiser writes") from error


def _of_node(node: NodeProto, module: str, export: Int8Export) -> Iterator[tuple[str, NDArray[Any]]]:
    inputs = node.input
    match node.op_type:
        case "MatMulInteger" if inputs[1] in export.arrays:
            yield f"{module}.weight", export.quantised(inputs[1], inputs[3]).values.T
        case "MatMul" if inputs[1] in export.arrays:  # too small to be quantised
            yield f"{module}.weight", export.arrays[inputs[1]].T
        case "Gather" if inputs[0].endswith(QUANTISED):
            yield f"{module}.weight", export.dequantised(inputs[0], node.output[0]).values
        case "ConvInteger":
            yield from _convolution(module, export.quantised(inputs[1], inputs[3]))
        case "Conv" | "ConvTranspose" if "stft" not in module:
            yield from _convolution(module, export.weight(inputs[1]))
        case "DynamicQuantizeLSTM":
            yield from _lstm(module, inputs, export)
        case _:
            return


def _convolution(module: str, weight: NDArray[np.float32] | Quantised) -> Iterator[tuple[str, NDArray[Any]]]:
    values = weight.values if isinstance(weight, Quantised) else weight
    if _WITHOUT_WEIGHT_NORM.search(module):
        yield f"{module}.weight", values
        return
    norms = weight.norms() if isinstance(weight, Quantised) else _norms(weight)
    column = (-1, *(1 for _ in values.shape[1:]))
    yield f"{module}.weight_g", norms.reshape(column)
    yield f"{module}.weight_v", np.where(norms.reshape(column) == 0, np.float32(1), values)


def _norms(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """As `Quantised.norms`: squares of float32 are exact in float64, and fsum rounds once."""
    flat = weight.reshape(len(weight), -1).astype(np.float64)
    return np.array([math.sqrt(math.fsum(row)) for row in flat * flat], dtype=np.float32)


def _lstm(module: str, inputs: Any, export: Int8Export) -> Iterator[tuple[str, NDArray[Any]]]:
    w_scale, w_zero_point, r_scale, r_zero_point = inputs[LSTM_SCALES_AND_ZERO_POINTS]
    matrices = {
        "weight_ih_l0": export.lstm(inputs[1], w_scale, w_zero_point),
        "weight_hh_l0": export.lstm(inputs[2], r_scale, r_zero_point),
    }
    biases = np.split(export.arrays[inputs[LSTM_B]], 2, axis=1)
    both = matrices | dict(zip(("bias_ih_l0", "bias_hh_l0"), biases, strict=True))
    for name, directions in both.items():
        forward, backward = directions
        yield f"{module}.{name}", _torch_gates(forward)
        yield f"{module}.{name}_reverse", _torch_gates(backward)


def _torch_gates(rows: NDArray[Any]) -> NDArray[Any]:
    i, o, f, c = np.split(rows, 4)
    return np.concatenate([i, f, c, o])


def _module(node_name: str) -> str | None:
    """The traced module of a node: `/encoder/text_encoder/cnn.0/cnn.0.0/Conv_quant` is `text_encoder.cnn.0.0`."""
    side, *path = node_name.removeprefix("/").split("/")[:-1] or [""]
    if side not in {"encoder", "decoder"} or not path:
        return None
    if side == "encoder" and _TRACED_IN_METHOD.match(path[0]):
        path.insert(0, "predictor")
    names: list[str] = []
    for name in path:
        if names and name.startswith(f"{names[-1]}."):
            names[-1] = name
        else:
            names.append(name)
    module = ".".join(names)
    # the second to twelfth run of ALBERT's one layer are traced as attention_1, ffn_2 ...
    return re.sub(r"_\d+(?=\.|$)", "", module) if module.startswith("bert.") else module
