"""The 48 instance norms of Kokoro's generator, found in the float graph, and put out of the way where asked.

The generator normalises with the mean and variance of the whole sentence, so none of its audio can be made before all
of it is. The traced graph spells a norm out (kokoro/istftnet.py, AdaIN1d):

    x → ReduceMean → Sub → Mul → ReduceMean → Add ε → Sqrt → Div → Mul by gain → Add shift

where gain = 1 + γ and shift = β come from the style by one matrix product. Norms of one input share everything up to
Div. With a given mean and variance it is one affine function a·x + b of each channel, and what is left of the generator
is convolutions: a chunk with enough context on both sides then equals the same piece of one pass over the whole.

The norms' order is that of their names, and their channels follow each other in it: 9,216 together, with the shared
inputs counted for each norm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.graph_surgery import joined, replaced

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

GENERATOR: Final = "/decoder/decoder/generator/"
NORMS: Final = 48
CHANNELS: Final = 9216
EPSILON: Final = 1e-5
"""torch.nn.InstanceNorm1d's; the export has it as a constant."""
MEANS, VARIANCES, GAINS, SHIFTS = "norm_means", "norm_variances", "norm_gains", "norm_shifts"
"""Tensors float32 [1, 9216, 1] that `observed` adds to the graph."""
FACTORS, OFFSETS = "norm_factors", "norm_offsets"
"""Tensors float32 [1, 9216, 1], a and b, that the graph of `given` reads."""
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
    return joined(
        model,
        {
            MEANS: [norm.mean for norm in norms],
            VARIANCES: [norm.variance for norm in norms],
            GAINS: [norm.gain for norm in norms],
            SHIFTS: [norm.shift for norm in norms],
        },
    )


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
