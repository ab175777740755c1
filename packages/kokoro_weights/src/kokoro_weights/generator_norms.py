"""The 48 instance norms of Kokoro's generator, found in the float graph, and put out of the way where asked.

The generator normalises with the mean and variance of the whole sentence, so none of its audio can be made before all
of it is. The traced graph spells a norm out (kokoro/istftnet.py, AdaIN1d):

    x → ReduceMean → Sub → Mul → ReduceMean → Add ε → Sqrt → Div → Mul by gain → Add shift

where gain = 1 + γ and shift = β come from the style by one matrix product. Norms of one input share everything up to
Div. With a given mean and variance it is one affine function a·x + b of each channel, and what is left of the generator
is convolutions: a chunk with enough context on both sides then equals the same piece of one pass over the whole.

The norms' order is that of their names, and their channels follow each other in it: 9,216 together, with the shared
inputs counted for each norm. Those of the first four residual blocks, more than half of them, are the sketched ones
(`sketch`): three blocks run at the lower of two rates, the fourth, a small one, at six times it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.graph_surgery import replaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import ModelProto, NodeProto

GENERATOR: Final = "/decoder/decoder/generator/"
NORMS: Final = 48
CHANNELS: Final = 9216
SKETCHED: Final = slice(2304, 7680)
"""The channels of the first four residual blocks: 18 norms of 256 at the lower rate, then 6 of 128 at the higher."""
SKETCHED_CHANNELS: Final = SKETCHED.stop - SKETCHED.start
LOWER_CHANNELS: Final = 4608
"""How many of the sketched ones are at the lower rate."""
SKETCHED_AS_ONE: Final = 2
"""How many columns of the lower rate are one where a sketch goes on to the higher."""
EPSILON: Final = 1e-5
"""torch.nn.InstanceNorm1d's; the export has it as a constant."""
MEANS, VARIANCES, GAINS, SHIFTS = "norm_means", "norm_variances", "norm_gains", "norm_shifts"
"""Tensors float32 [1, 9216, 1] that `observed` adds to the graph."""
SKETCH_MEANS, SKETCH_VARIANCES = "sketch_means", "sketch_variances"
"""Tensors float32 [1, 5376, 1] that `sketched` adds to the graph."""
FACTORS, OFFSETS = "norm_factors", "norm_offsets"
"""Tensors float32 [1, 9216, 1], a and b, that the graph of `given` reads."""
_WITH_SOURCE: Final = {
    f"{GENERATOR}ups.0/ConvTranspose_output_0": f"{GENERATOR}Add_2_output_0",
    f"{GENERATOR}reflection_pad/Pad_output_0": f"{GENERATOR}Add_5_output_0",
}
"""What three residual blocks read, at either rate: the upsampled input to the source added to it."""
_LOWER, _ACTIVATED = f"{GENERATOR}Div_2_output_0", f"{GENERATOR}LeakyRelu_1_output_0"
"""What the blocks of the lower rate make, and that after the activation before it is upsampled."""
_SLOPE: Final = 0.1
"""Of the activation below zero (kokoro/istftnet.py, LRELU_SLOPE)."""
_TIME, _TIMES = "time_axis", "time_axes"
_PROJECTION: Final = "/fc/Gemm_Add"
_NUMBERS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Norm:
    """One norm: the tensors that it is made of, by name."""

    name: str
    """The module's in kokoro's generator: `resblocks.0.adain1.2`."""
    source: str
    mean: str
    variance: str
    gain: str
    shift: str
    output: str
    channels: int


def find_norms(model: ModelProto) -> tuple[Norm, ...]:
    """The generator's norms in their order. Raises CheckpointRefused where they are not spelled as expected."""
    reader = _Reader(model)
    names = {
        node.name.removeprefix(GENERATOR).removesuffix(_PROJECTION)
        for node in model.graph.node
        if node.name.startswith(GENERATOR) and node.name.endswith(_PROJECTION)
    }
    norms = tuple(reader.norm(name) for name in sorted(names, key=_natural))
    found = len(norms), sum(norm.channels for norm in norms)
    if found != (NORMS, CHANNELS):
        raise CheckpointRefused(
            f"ONNX graph: expected {NORMS} norms of {CHANNELS} channels in the generator, "
            f"found {found[0]} of {found[1]}"
        )
    return norms


def observed(model: ModelProto) -> ModelProto:
    """`model` with the tensors MEANS, VARIANCES, GAINS and SHIFTS, which hold those of all norms in order.

    Raises as `find_norms` does.
    """
    norms = find_norms(model)
    return _told(
        model,
        {
            MEANS: [norm.mean for norm in norms],
            VARIANCES: [norm.variance for norm in norms],
            GAINS: [norm.gain for norm in norms],
            SHIFTS: [norm.shift for norm in norms],
        },
    )


def sketched(model: ModelProto) -> ModelProto:
    """`model` with the tensors SKETCH_MEANS and SKETCH_VARIANCES, which hold those of the SKETCHED channels.

    The residual blocks do without the harmonic source, and between the rates every SKETCHED_AS_ONE columns become
    their mean. Raises as `find_norms` does.
    """
    from onnx import helper

    norms = find_norms(model)
    begins = np.cumsum([0, *(norm.channels for norm in norms)])
    chosen = [norm for norm, begin in zip(norms, begins, strict=False) if SKETCHED.start <= begin < SKETCHED.stop]
    makers = {
        added: [helper.make_node("Identity", [bare], [added], name=added)] for bare, added in _WITH_SOURCE.items()
    }
    fewer, size = f"{_LOWER}_fewer", [SKETCHED_AS_ONE]
    makers[_ACTIVATED] = [
        helper.make_node("AveragePool", [_LOWER], [fewer], name=fewer, kernel_shape=size, strides=size),
        helper.make_node("LeakyRelu", [fewer], [_ACTIVATED], name=_ACTIVATED, alpha=_SLOPE),
    ]
    result = replaced(model, makers, {_TIME: np.array(2), _TIMES: np.array([2])})
    for source in {norm.source: None for norm in chosen}:
        result.graph.node.extend(_statistics(source))
    return _told(
        result,
        {
            SKETCH_MEANS: [f"{norm.source}_mean" for norm in chosen],
            SKETCH_VARIANCES: [f"{norm.source}_variance" for norm in chosen],
        },
    )


def _statistics(source: str) -> list[NodeProto]:
    """Nodes that make a tensor's mean and variance over time, apart from those that a norm of it has.

    Where a norm's own are put out, OpenVINO cannot make the norm in one kernel. The mean is a sum that is divided: as a
    mean it would be taken for the norm's, and the whole sketch take a fifth longer.
    """
    from onnx import helper

    def node(operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> NodeProto:
        return helper.make_node(operator, inputs, [f"{source}_{name}"], name=f"{source}_{name}", **attributes)

    made = {name: f"{source}_{name}" for name in ("shape", "length", "columns", "sum", "mean", "apart", "square")}
    return [
        node("Shape", [source], "shape"),
        node("Gather", [made["shape"], _TIME], "length"),
        node("Cast", [made["length"]], "columns", to=1),
        node("ReduceSum", [source, _TIMES], "sum", keepdims=1),
        node("Div", [made["sum"], made["columns"]], "mean"),
        node("Sub", [source, made["mean"]], "apart"),
        node("Mul", [made["apart"], made["apart"]], "square"),
        node("ReduceMean", [made["square"], _TIMES], "variance", keepdims=1),
    ]


def given(model: ModelProto) -> ModelProto:
    """`model` where each norm is a·x + b, with all a in the tensor FACTORS and all b in OFFSETS.

    Raises as `find_norms` does.
    """
    from onnx import helper

    norms = find_norms(model)
    names = [norm.name for norm in norms]
    sizes = {"norm_sizes": np.array([norm.channels for norm in norms], dtype=np.int64)}
    makers: dict[str, list[NodeProto]] = {}
    for norm in norms:
        scaled = f"{norm.output}_scaled"
        factor, offset = f"{FACTORS}/{norm.name}", f"{OFFSETS}/{norm.name}"
        makers[norm.output] = [
            helper.make_node("Mul", [norm.source, factor], [scaled], name=scaled),
            helper.make_node("Add", [scaled, offset], [norm.output], name=norm.output),
        ]
    result = replaced(model, makers, sizes)
    splits = [
        helper.make_node(
            "Split", [tensor, "norm_sizes"], [f"{tensor}/{name}" for name in names], name=f"split {tensor}", axis=1
        )
        for tensor in (FACTORS, OFFSETS)
    ]
    nodes = [*splits, *result.graph.node]
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    return result


def _told(model: ModelProto, tensors: Mapping[str, Sequence[str]]) -> ModelProto:
    """`model` with tensors that are others', one after the other."""
    from onnx import helper

    result = replaced(model, {}, {})
    for tensor, parts in tensors.items():
        result.graph.node.append(helper.make_node("Concat", parts, [tensor], name=tensor, axis=1))
    return result


class _Reader:
    """Follows the graph from a norm's gain to its output, and back to its input."""

    def __init__(self, model: ModelProto) -> None:
        self._makers = {output: node for node in model.graph.node for output in node.output}
        self._readers: dict[str, list[NodeProto]] = {}
        for node in model.graph.node:
            for tensor in node.input:
                self._readers.setdefault(tensor, []).append(node)
        self._shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}

    def norm(self, name: str) -> Norm:
        try:
            return self._norm(name)
        except (LookupError, ValueError) as error:
            raise CheckpointRefused(f"ONNX graph: the norm {name} is not spelled as kokoro's trace has it") from error

    def _norm(self, name: str) -> Norm:
        prefix = GENERATOR + name
        gain, shift = f"{prefix}/Add_1_output_0", f"{prefix}/Slice_1_output_0"
        scaled = self._reader(gain, "Mul")
        output = self._reader(scaled.output[0], "Add")
        (normalised,) = set(scaled.input) - {gain}
        (found,) = set(output.input) - set(scaled.output)
        if found != shift:
            raise ValueError(name)
        centred, deviation = self._maker(normalised, "Div").input
        source, mean = self._maker(centred, "Sub").input
        shifted = self._maker(self._maker(deviation, "Sqrt").input[0], "Add")
        (variance,) = (tensor for tensor in shifted.input if tensor in self._makers)
        self._maker(mean, "ReduceMean")
        self._maker(variance, "ReduceMean")
        (bias,) = (tensor for tensor in self._makers[f"{prefix}/fc/Gemm_output_0"].input if tensor in self._shapes)
        module = name.replace("/", ".")
        return Norm(module, source, mean, variance, gain, shift, output.output[0], self._shapes[bias][0] // 2)

    def _reader(self, tensor: str, operator: str) -> NodeProto:
        """The only node that reads `tensor`."""
        (node,) = self._readers[tensor]
        return _require(node, operator)

    def _maker(self, tensor: str, operator: str) -> NodeProto:
        return _require(self._makers[tensor], operator)


def _require(node: NodeProto, operator: str) -> NodeProto:
    if node.op_type != operator:
        raise ValueError(node.name)
    return node


def _natural(name: str) -> list[int | str]:
    """Numbers count as numbers, though none here has two digits."""
    return [int(part) if part.isdigit() else part for part in _NUMBERS.split(name)]
