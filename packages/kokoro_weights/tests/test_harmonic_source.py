"""Phases that were left to rounding have one value; all others stay what they were."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest
from kokoro_weights import prepare
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.float_graph import float_graph
from kokoro_weights.graph_surgery import cut, serialised
from kokoro_weights.harmonic_source import BINS, QUIET, settled
from kokoro_weights.stages import HARMONICS, SPEED, STYLE, TOKENS
from onnx import ModelProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

GENERATOR = "/decoder/decoder/generator"


@pytest.fixture(scope="module")
def source() -> ModelProto:
    """Real and imaginary parts to magnitudes and phases, as the traced graph spells it, under its names."""
    at = {name: f"{GENERATOR}/{name}_output_0" for name in ("Less", "Sqrt", "Where", "Where_1", "Concat_3")}
    nodes = [
        helper.make_node("Less", ["real", "zero"], [at["Less"]]),
        helper.make_node("Mul", ["real", "real"], ["real²"]),
        helper.make_node("Mul", ["imaginary", "imaginary"], ["imaginary²"]),
        helper.make_node("Add", ["real²", "imaginary²"], ["power"]),
        helper.make_node("Sqrt", ["power"], [at["Sqrt"]]),
        helper.make_node("Div", ["imaginary", "real"], ["slope"]),
        helper.make_node("Atan", ["slope"], ["angle"]),
        helper.make_node("Add", ["angle", "pi"], ["above"]),
        helper.make_node("Sub", ["angle", "pi"], ["below"]),
        helper.make_node("Greater", ["imaginary", "zero"], ["upper"]),
        helper.make_node("Where", ["upper", "above", "below"], [at["Where"]]),
        helper.make_node("Where", [at["Less"], at["Where"], "angle"], [at["Where_1"]]),
        helper.make_node("Concat", [at["Sqrt"], at["Where_1"]], [at["Concat_3"]], axis=1),
    ]
    shape: list[int | str] = [1, BINS, "spectra"]
    return helper.make_model(
        helper.make_graph(
            nodes,
            "source",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("real", "imaginary")],
            [helper.make_tensor_value_info(at["Concat_3"], TensorProto.FLOAT, [1, 2 * BINS, "spectra"])],
            [
                numpy_helper.from_array(np.array(value, dtype=np.float32), name)
                for name, value in (("zero", 0.0), ("pi", math.pi))
            ],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )


def phase(model: ModelProto, bin_index: int, *values: complex) -> list[float]:
    """The phases of a bin that has these values."""
    parts = np.zeros((1, BINS, len(values)), dtype=np.complex64)
    parts[:, bin_index] = values
    session = onnxruntime.InferenceSession(serialised(model), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"real": parts.real.copy(), "imaginary": parts.imag.copy()})
    phases: list[float] = found[0, BINS + bin_index].tolist()
    return phases


@pytest.mark.parametrize("bin_index", [0, BINS - 1])
def test_a_real_bin_has_no_sign_of_rounding(source: ModelProto, bin_index: int) -> None:
    values = (-0.3 + 1e-9j, -0.3 - 1e-9j, 0.3 + 1e-9j, 0.3 - 1e-9j)
    assert phase(source, bin_index, *values)[:2] == pytest.approx([math.pi, -math.pi]), "without"
    assert phase(settled(source), bin_index, *values) == pytest.approx([math.pi, math.pi, 0, 0])


def test_a_bin_without_energy_has_phase_0(source: ModelProto) -> None:
    values = (2e-8 + 1e-8j, -2e-8j, -1e-8, 0j)
    assert max(map(abs, phase(source, 4, *values[:3]))) > 1, "without"
    assert math.isnan(phase(source, 4, *values)[-1]), "without"
    assert phase(settled(source), 4, *values) == [0, 0, 0, 0]


def test_whatever_sounds_keeps_its_phase(source: ModelProto) -> None:
    values = (1 + 1j, -1 + 1j, -1 - 1j, 1 - 1j, 2e-6 + 2e-6j)
    assert phase(settled(source), 4, *values) == phase(source, 4, *values)


def test_a_graph_without_a_source_is_refused(source: ModelProto) -> None:
    other = ModelProto()
    other.CopyFrom(source)
    del other.graph.node[-1]
    with pytest.raises(CheckpointRefused, match="Concat_3_output_0"):
        settled(other)


@pytest.mark.weights
def test_of_the_real_source_nothing_else_changes() -> None:
    weights = prepare("packages")
    assert weights.onnx_model is not None
    graph = float_graph(weights.onnx_model.read_bytes())
    tokens = np.array([[0, 50, 83, 54, 156, 31, 16, 81, 86, 123, 4, 0]])  # "həlˈO, ðɛɹ."
    feed = {"tokens": tokens, "style": weights.voice("af_heart")[9:10], "speed": np.ones(1, dtype=np.float32)}
    before, after = (harmonics(model, feed) for model in (graph, settled(graph)))
    magnitudes, phases = after[0, :BINS], after[0, BINS:]
    np.testing.assert_array_equal(magnitudes, before[0, :BINS])
    chance = magnitudes < QUIET
    assert 0.1 < chance.mean() < 0.9
    assert not phases[chance].any()
    assert set(phases[[0, -1]].ravel().tolist()) == {0.0, float(np.float32(math.pi))}
    chance[[0, -1]] = True
    np.testing.assert_array_equal(phases[~chance], before[0, BINS:][~chance])


def harmonics(model: ModelProto, feed: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    part = cut(model, "source", inputs=(TOKENS, STYLE, SPEED), outputs=(HARMONICS,))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(serialised(part), options, providers=["CPUExecutionProvider"])
    found: NDArray[np.float32] = session.run(None, feed)[0]
    return found
