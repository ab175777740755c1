"""The generator's activation without a sine, so that a compiler of graphs makes one loop of it.

Kokoro's generator applies x + sin(αx)² / α forty-eight times to every value (snake, kokoro/istftnet.py). OpenVINO's CPU
plugin has no vector code for Sin: it calls libm value by value, in float32, between conversions from and to bfloat16,
which took a fifth of the generator's time. The square of a sine has the period π and is even around zero:

    u = αx / π    r = u - round(u), within ±½    sin(αx)² = sin(πr)² = P(r²) · r²

with a polynomial P. Only Mul, Add, Sub and Round are left; the plugin fuses them, with what comes before and after,
into one kernel that keeps float32 from the load to the store.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.graph_surgery import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

COEFFICIENTS: Final = (
    9.869602920133936,
    -32.469581110276614,
    42.72538469860448,
    -30.085952509836904,
    12.9907280547723,
    -3.2729430188804502,
)
"""Of P, from the constant up, with the least maximum error of P(s)·s against sin(π√s)² for s from 0 to ¼: 6e-9 in exact
arithmetic, 2e-7 in float32, where a sine of its own argument is off by as much. Found by reweighted least squares on
Chebyshev's points; the first three are near the series' π², -π⁴/3 and 2π⁶/45."""
_PREFIX: Final = "squared_sine"


def without_sines(model: ModelProto) -> ModelProto:
    """`model` with every Pow(Sin(Mul(constant, x)), 2) as the polynomial; other sines stay."""
    from onnx import numpy_helper

    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    source = {output: node for node in model.graph.node for output in node.output}
    added: dict[str, NDArray[Any]] = {
        f"{_PREFIX}_{power}": np.array(value, dtype=np.float32) for power, value in enumerate(COEFFICIENTS)
    }
    makers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        product = _angle(node, source)
        if product is None or product.input[0] not in constants:
            continue
        alpha, x = product.input
        if numpy_helper.to_array(constants[node.input[1]]).tolist() != 2:
            continue
        turns = f"{alpha}_over_pi"
        added[turns] = (numpy_helper.to_array(constants[alpha]).astype(np.float64) / math.pi).astype(np.float32)
        makers[node.output[0]] = list(_polynomial(x, turns, node.output[0]))
    return replaced(model, makers, added if makers else {})


def _angle(node: NodeProto, source: dict[str, NodeProto]) -> NodeProto | None:
    """The product inside the sine that `node` raises to a power, if that is what it does."""
    for operator in ("Pow", "Sin"):
        if node.op_type != operator or node.input[0] not in source:
            return None
        node = source[node.input[0]]
    return node if node.op_type == "Mul" else None


def _polynomial(x: str, turns: str, output: str) -> Iterator[NodeProto]:
    """P(r²) · r² by Horner's rule."""

    def node(operator: str, *inputs: str, to: str) -> NodeProto:
        from onnx import helper

        return helper.make_node(operator, inputs, [to], name=to)

    u, whole, r, square = (f"{output}_{part}" for part in ("turns", "whole", "rest", "square"))
    yield node("Mul", x, turns, to=u)
    yield node("Round", u, to=whole)
    yield node("Sub", u, whole, to=r)
    yield node("Mul", r, r, to=square)
    value = f"{_PREFIX}_{len(COEFFICIENTS) - 1}"
    for power in reversed(range(len(COEFFICIENTS) - 1)):
        yield node("Mul", value, square, to=f"{output}_product_{power}")
        value = f"{output}_sum_{power}"
        yield node("Add", f"{output}_product_{power}", f"{_PREFIX}_{power}", to=value)
    yield node("Mul", value, square, to=output)
