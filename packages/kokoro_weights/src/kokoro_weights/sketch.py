"""A sentence in a third of its time: what most of the generator makes of that tells much of the rest.

The generator's norms want statistics of the whole sentence, and more than half of them are worth a small run of their
own: the stage `sketch` over the generator's input with every three columns of it as one, and without the harmonic
source. It goes through the three residual blocks of the lower rate, makes every two columns of what they give one, and
then goes through the smallest block of the higher rate, which is six times the lower. It costs a tenth of decoding the
sentence, and its norms' own statistics go with those that the sentence will have (`norm_statistics`).

Every four columns as one, with the source, cost as much and tell less, and every eight tell little. Stretches of a few
columns with gaps between them tell next to nothing, because what is said in the gaps is not in them. The block of the
higher rate is there for loudness: of that rate its variances are the worst predicted, and in the quarter of a second
that was furthest off (a "t" before a pause) they were why. All three blocks of that rate, on every three columns, would
cost nearly twice as much, and take 14 % of the error of its variances where this one takes 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.generator_norms import GENERATOR, find_norms
from kokoro_weights.graph_surgery import joined, replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import ModelProto, NodeProto

SKETCHED: Final = slice(2304, 7680)
"""The channels of the first four residual blocks: 18 norms of 256 at the lower rate, then 6 of 128 at the higher."""
SKETCHED_CHANNELS: Final = SKETCHED.stop - SKETCHED.start
LOWER_CHANNELS: Final = 4608
"""How many of the sketched ones are at the lower rate."""
SKETCH_MEANS, SKETCH_VARIANCES = "sketch_means", "sketch_variances"
"""Tensors float32 [1, 5376, 1] that `sketched` adds to the graph."""


@dataclass(frozen=True, slots=True)
class Thinning:
    """Every `columns` of the tensor `source` become their mean, and what is left over at its end is not in it."""

    source: str
    activated: str
    """What the next layer reads: `source` after the activation."""
    columns: int


THINNINGS: Final = (
    Thinning("/decoder/decoder/decode.3/Div_4_output_0", f"{GENERATOR}LeakyRelu_output_0", 3),
    Thinning(f"{GENERATOR}Div_2_output_0", f"{GENERATOR}LeakyRelu_1_output_0", 2),
)
"""Of what enters the generator, 12.5 ms a column, and between its two rates."""
_WITH_SOURCE: Final = {
    f"{GENERATOR}ups.0/ConvTranspose_output_0": f"{GENERATOR}Add_2_output_0",
    f"{GENERATOR}reflection_pad/Pad_output_0": f"{GENERATOR}Add_5_output_0",
}
"""What three residual blocks read, at either rate: the upsampled input to the source added to it."""
_TIME, _TIMES = "time_axis", "time_axes"


def sketched(model: ModelProto) -> ModelProto:
    """`model` with the tensors SKETCH_MEANS and SKETCH_VARIANCES, which hold those of the SKETCHED channels.

    The generator is thinned, and does without the harmonic source. Raises as `find_norms` does.
    """
    from onnx import helper

    norms = find_norms(model)
    begins = np.cumsum([0, *(norm.channels for norm in norms)])
    chosen = [norm for norm, begin in zip(norms, begins, strict=False) if SKETCHED.start <= begin < SKETCHED.stop]
    makers = {
        added: [helper.make_node("Identity", [bare], [added], name=added)] for bare, added in _WITH_SOURCE.items()
    }
    activations = {node.output[0]: node for node in model.graph.node}
    for thinning in THINNINGS:
        makers[thinning.activated] = _thinned(thinning, activations[thinning.activated])
    result = replaced(model, makers, {_TIME: np.array(2), _TIMES: np.array([2])})
    for source in {norm.source: None for norm in chosen}:
        result.graph.node.extend(_statistics(source))
    return joined(
        result,
        {
            SKETCH_MEANS: [f"{norm.source}_mean" for norm in chosen],
            SKETCH_VARIANCES: [f"{norm.source}_variance" for norm in chosen],
        },
    )


def _thinned(thinning: Thinning, activation: NodeProto) -> list[NodeProto]:
    from onnx import helper

    fewer, size = f"{thinning.source}_fewer", [thinning.columns]
    after = type(activation)()
    after.CopyFrom(activation)
    after.input[:] = [fewer]
    return [
        helper.make_node("AveragePool", [thinning.source], [fewer], name=fewer, kernel_shape=size, strides=size),
        after,
    ]


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
