"""A convolution makes the source's spectra as the operator STFT does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.graph_surgery import serialised
from kokoro_weights.source_spectra import convolved, source_kernels
from onnx import ModelProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP, SAMPLES = 5, 20
WINDOW = np.hanning(SAMPLES + 1)[:-1].astype(np.float32)
REAL, IMAGINARY = (f"/decoder/decoder/generator/Gather_{number}_output_0" for number in (4, 5))


@pytest.fixture(scope="module")
def transform() -> ModelProto:
    """A signal to its real and imaginary parts, as the traced graph spells it."""
    constants: dict[str, NDArray[Any]] = {
        "step": np.array(STEP, dtype=np.int64),
        "window": WINDOW,
        "length": np.array(SAMPLES, dtype=np.int64),
        "zero": np.array(0, dtype=np.int64),
        "one": np.array(1, dtype=np.int64),
    }
    nodes = [
        helper.make_node("STFT", ["signal", "step", "window", "length"], ["spectra"], onesided=1),
        helper.make_node("Transpose", ["spectra"], ["bins"], perm=[0, 2, 1, 3]),
        helper.make_node("Gather", ["bins", "one"], [IMAGINARY], axis=3),
        helper.make_node("Gather", ["bins", "zero"], [REAL], axis=3),
    ]
    return helper.make_model(
        helper.make_graph(
            nodes,
            "transform",
            [helper.make_tensor_value_info("signal", TensorProto.FLOAT, [1, "samples"])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 11, "spectra"]) for name in (REAL, IMAGINARY)],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )


@pytest.mark.parametrize("samples", [20, 24, 25, 999])
def test_both_make_the_same_of_a_signal(transform: ModelProto, samples: int) -> None:
    signal = np.random.default_rng(samples).standard_normal((1, samples), dtype=np.float32)
    wanted, found = (
        onnxruntime.InferenceSession(serialised(model), providers=["CPUExecutionProvider"]).run(
            [REAL, IMAGINARY], {"signal": signal}
        )
        for model in (transform, convolved(transform))
    )
    frames = np.lib.stride_tricks.sliding_window_view(signal[0].astype(np.float64), SAMPLES)[::STEP]
    exact = np.fft.rfft(frames * WINDOW).T[None]
    assert float(np.abs(exact.real).max()) > 1
    for operator, convolution, part in zip(wanted, found, (exact.real, exact.imag), strict=True):
        np.testing.assert_allclose(convolution, part, atol=2e-6)
        np.testing.assert_allclose(operator, part, atol=5e-5, err_msg="onnxruntime's operator is the coarser one")


def test_bins_that_are_real_have_no_imaginary_part() -> None:
    kernels = source_kernels(WINDOW)
    assert kernels.shape == (22, 1, SAMPLES)
    assert not kernels[11].any()
    assert not kernels[21].any()
    assert kernels[12:21].any(axis=(1, 2)).all()


def test_a_graph_without_a_transform_is_refused(transform: ModelProto) -> None:
    other = ModelProto()
    other.CopyFrom(transform)
    del other.graph.node[0]
    with pytest.raises(CheckpointRefused, match="expected one STFT, found 0"):
        convolved(other)
