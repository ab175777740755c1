"""A graph of a few numbers in the form that onnxruntime's dynamic quantisation gives to kokoro's modules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

ZERO_POINT = 128
EMBEDDING = np.array([[1, -2], [3, 4], [0, 127]], dtype=np.int8)
PROJECTION = np.array([[1, 2, 3], [-4, 5, -6]], dtype=np.int8)
"""[inputs, outputs], with a scale for each output."""
CONVOLUTION = np.array([[[131, 124]], [[ZERO_POINT, ZERO_POINT]], [[128, 255]]], dtype=np.uint8)
"""The second channel rounded to zero."""
PLAIN = np.array([[[1, 255]]], dtype=np.uint8)
UPSAMPLING = np.array([[[3.0, 4.0]], [[0.0, 0.0]]], dtype=np.float32)
SOURCE = np.array([[0.5], [0.25]], dtype=np.float32)
HIDDEN = 2
LSTM_W = np.arange(2 * 3 * 4 * HIDDEN, dtype=np.int8).reshape(2, 3, 4 * HIDDEN)
LSTM_R = -np.arange(2 * HIDDEN * 4 * HIDDEN, dtype=np.int8).reshape(2, HIDDEN, 4 * HIDDEN)
LSTM_B = np.arange(2 * 8 * HIDDEN, dtype=np.float32).reshape(2, 8 * HIDDEN)
BIAS = np.array([1.5, -2.5], dtype=np.float32)
LAYER = "/encoder/bert/encoder/albert_layer_groups.0/albert_layers.0"


def small_export(*extra: NodeProto, **changed: NDArray[np.generic]) -> ModelProto:
    """The model. `extra` nodes come last; `changed` constants replace those of the same name."""
    table = "encoder.text_encoder.embedding.weight"
    constants: dict[str, NDArray[np.generic]] = {
        f"{table}_quantized": EMBEDDING,
        f"{table}_scale": np.array(0.5, dtype=np.float32),
        "zero": np.array(0, dtype=np.int8),
        "projection_quantized": PROJECTION,
        "projection_scale": np.array([1, 10, 100], dtype=np.float32),
        "projection_zero_point": np.array([0, 1, 0], dtype=np.int8),
        "convolution_quantized": CONVOLUTION,
        "convolution_scale": np.array(0.25, dtype=np.float32),
        "middle": np.array(ZERO_POINT, dtype=np.uint8),
        "plain_quantized": PLAIN,
        "plain_scale": np.array(1, dtype=np.float32),
        "upsampling": UPSAMPLING,
        "source": SOURCE,
        "w_quantized": LSTM_W,
        "w_scale": np.array([0.5, 2.0], dtype=np.float32),
        "r_quantized": LSTM_R,
        "r_scale": np.array([1.0, 1.0], dtype=np.float32),
        "zeros": np.zeros(2, dtype=np.int8),
        "b": LSTM_B,
        "encoder.predictor.F0.0.conv1.bias": BIAS,
        "decoder.decoder.generator.stft.window": BIAS,
        "encoder.predictor.F0.0.conv1.bias_scale": BIAS,
    }
    nodes = [
        node("Gather", "/encoder/text_encoder/embedding/Gather_quant", f"{table}_quantized", "tokens", output="looked"),
        node("DequantizeLinear", "dequantize", "looked", f"{table}_scale", "zero"),
        node("MatMulInteger", f"{LAYER}/ffn/MatMul_quant", "x", "projection_quantized", "xz", "projection_zero_point"),
        node(
            "MatMulInteger", f"{LAYER}/ffn_11/MatMul_quant", "x", "projection_quantized", "xz", "projection_zero_point"
        ),
        node("MatMul", f"{LAYER}/attention/MatMul", "query", "key"),
        node("MatMul", "/decoder/decoder/generator/m_source/l_linear/MatMul", "x", "source"),
        node(
            "ConvInteger", "/encoder/text_encoder/cnn.0/cnn.0.0/Conv_quant", "x", "convolution_quantized", "z", "middle"
        ),
        node("ConvInteger", "/encoder/F0_proj/Conv_quant", "x", "plain_quantized", "z", "middle"),
        node("ConvTranspose", "/decoder/decoder/generator/ups.0/ConvTranspose", "x", "upsampling"),
        node("Conv", "/decoder/decoder/generator/stft/Conv", "x", "upsampling"),
        node("DequantizeLinear", "post", "convolution_quantized", "convolution_scale", "middle", output="post_weight"),
        node("Conv", "/decoder/decoder/generator/conv_post/Conv", "x", "post_weight"),
        node(
            "DynamicQuantizeLSTM",
            "/encoder/shared/LSTM_quant",
            *("x", "w_quantized", "r_quantized", "b", "", "h", "c", "", "w_scale", "zeros", "r_scale", "zeros"),
        ),
        *extra,
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants | changed).items()]
    output = helper.make_tensor_value_info("audio", TensorProto.FLOAT, [None])
    return helper.make_model(helper.make_graph(nodes, "small", [], [output], tensors))


def node(operator: str, name: str, *inputs: str, output: str = "") -> NodeProto:
    """One node with one output."""
    return helper.make_node(operator, inputs, [output or f"{name}:0"], name=name)
