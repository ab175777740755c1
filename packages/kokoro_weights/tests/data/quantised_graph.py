"""A graph with every chain of operators that the export's quantiser wrote, which onnxruntime runs as it is.

Inputs of whole numbers from 0 to 255 are quantised without a rounding error, so the float graph must give the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

HIDDEN = 2
_RANDOM = np.random.default_rng(5)
CONSTANTS: dict[str, NDArray[np.generic]] = {
    "middle": np.array(128, dtype=np.uint8),
    "zero": np.array(0, dtype=np.int8),
    "zeros": np.zeros(2, dtype=np.int8),
    "convolution_quantized": _RANDOM.integers(0, 256, (4, 3, 3), dtype=np.uint8),
    "convolution_scale": np.array(0.25, dtype=np.float32),
    "bias": np.array([1.5, -2.5, 0, 40], dtype=np.float32),
    "bias_shape": np.array([1, -1, 1], dtype=np.int64),
    "plain_quantized": _RANDOM.integers(0, 256, (2, 3, 1), dtype=np.uint8),
    "plain_scale": np.array(0.5, dtype=np.float32),
    "matrix_quantized": _RANDOM.integers(-128, 128, (3, 2), dtype=np.int8),
    "matrix_scale": np.array([0.5, 2], dtype=np.float32),
    "matrix_zero_point": np.array([0, 7], dtype=np.int8),
    "table_quantized": _RANDOM.integers(-128, 128, (5, 3), dtype=np.int8),
    "table_scale": np.array(0.5, dtype=np.float32),
    "upsampling_quantized": _RANDOM.integers(0, 256, (3, 2, 2), dtype=np.uint8),
    "upsampling_scale": np.array(0.125, dtype=np.float32),
    "w_quantized": _RANDOM.integers(-100, 100, (2, 3, 4 * HIDDEN), dtype=np.int8),
    "r_quantized": _RANDOM.integers(-20, 20, (2, HIDDEN, 4 * HIDDEN), dtype=np.int8),
    "w_scale": np.array([1 / 64, 1 / 32], dtype=np.float32),
    "r_scale": np.array([1 / 16, 1 / 16], dtype=np.float32),
    "b": np.zeros((2, 8 * HIDDEN), dtype=np.float32),
}
INPUTS: dict[str, tuple[int | str, ...]] = {"signal": (1, 3, "n"), "rows": (1, "n", 3), "steps": ("n", 1, 3)}
OUTPUTS = ("convolved", "plain", "product", "looked", "upsampled", "spoken")


def quantised_graph(**changed: NDArray[np.generic]) -> ModelProto:
    """The model: INPUTS and tokens int64 [1, n] in, OUTPUTS out. `changed` constants are replaced or added."""
    nodes = [
        _quantiser("signal"),
        _quantiser("rows"),
        _node("ConvInteger", *_quantised("signal", "convolution", "middle"), output="convolved_int", pads=[1, 1]),
        _node("Mul", "signal_scale", "convolution_scale", output="bias_scale"),
        _node("Div", "bias", "bias_scale", output="bias_divided"),
        _node("Round", "bias_divided", output="bias_rounded"),
        _node("Cast", "bias_rounded", output="bias_quantized", to=TensorProto.INT32),
        _node("Reshape", "bias_quantized", "bias_shape", output="bias_reshaped"),
        _node("Add", "convolved_int", "bias_reshaped", output="convolved_biased"),
        *_scaled("convolved_biased", "bias_scale", output="convolved"),
        _node("ConvInteger", *_quantised("signal", "plain", "middle"), output="plain_int"),
        _node("Mul", "signal_scale", "plain_scale", output="plain_both"),
        *_scaled("plain_int", "plain_both", output="plain"),
        _node("MatMulInteger", *_quantised("rows", "matrix", "matrix_zero_point"), output="product_int"),
        _node("Mul", "rows_scale", "matrix_scale", output="product_both"),
        *_scaled("product_int", "product_both", output="product"),
        _node("Gather", "table_quantized", "tokens", output="looked_int"),
        _node("DequantizeLinear", "looked_int", "table_scale", "zero", output="looked"),
        _node("DequantizeLinear", "upsampling_quantized", "upsampling_scale", "middle", output="upsampling"),
        _node("ConvTranspose", "signal", "upsampling", output="upsampled", strides=[2]),
        helper.make_node(
            "DynamicQuantizeLSTM",
            ["steps", "w_quantized", "r_quantized", "b", *[""] * 4, "w_scale", "zeros", "r_scale", "zeros"],
            ["spoken", "", ""],
            name="lstm",
            domain="com.microsoft",
            direction="bidirectional",
            hidden_size=HIDDEN,
        ),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in INPUTS.items()]
    inputs.append(helper.make_tensor_value_info("tokens", TensorProto.INT64, [1, "n"]))
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in OUTPUTS]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in (CONSTANTS | changed).items()]
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, "quantised", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def _node(operator: str, *inputs: str, output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(operator, inputs, [output], name=f"make {output}", **attributes)


def _quantiser(name: str) -> NodeProto:
    outputs = [f"{name}_quantized", f"{name}_scale", f"{name}_zero_point"]
    return helper.make_node("DynamicQuantizeLinear", [name], outputs, name=f"quantise {name}")


def _quantised(name: str, weight: str, zero_point: str) -> tuple[str, ...]:
    return f"{name}_quantized", f"{weight}_quantized", f"{name}_zero_point", zero_point


def _scaled(name: str, scale: str, output: str) -> list[NodeProto]:
    cast = _node("Cast", name, output=f"{output}_cast", to=TensorProto.FLOAT)
    return [cast, _node("Mul", f"{output}_cast", scale, output=output)]
