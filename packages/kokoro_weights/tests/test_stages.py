"""The real export in stages: the pinned bytes, and together they say what the whole graph says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from kokoro_weights import prepare
from kokoro_weights.digest import Digest
from kokoro_weights.pins import load
from kokoro_weights.stages import DECODER_STAGE, GENERATOR_STAGE, STAGES, TEXT_STAGE, WHOLE, build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kokoro_weights import WeightsDirectory
    from kokoro_weights.stages import Stage
    from numpy.typing import NDArray

pytestmark = pytest.mark.weights
HELLO = [50, 83, 54, 156, 31, 16, 81, 86, 123, 4]
"""Token ids of "həlˈO, ðɛɹ." """
CONVOLVED = replace(WHOLE, path="stages/convolved.onnx", change=TEXT_STAGE.change)
"""Everything in one graph, with what is done to the text stage."""


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages")


@pytest.fixture(scope="module")
def export(weights: WeightsDirectory) -> bytes:
    assert weights.onnx_model is not None
    return weights.onnx_model.read_bytes()


@pytest.fixture(scope="module")
def built(export: bytes) -> dict[Stage, bytes]:
    return dict(build(export, (*STAGES, WHOLE, CONVOLVED)))


@pytest.fixture(scope="module")
def results(built: dict[Stage, bytes], weights: WeightsDirectory) -> dict[str, NDArray[Any]]:
    """Every tensor at a cut, and the audio of the stages and of the whole."""
    feed = {
        "tokens": np.array([[0, *HELLO, 0]], dtype=np.int64),
        "style": weights.voice("af_heart")[len(HELLO) - 1].reshape(1, -1),
        "speed": np.ones(1, dtype=np.float32),
    }
    tensors = run(TEXT_STAGE, built, feed)
    tensors |= run(DECODER_STAGE, built, tensors | feed)
    tensors |= run(GENERATOR_STAGE, built, tensors | feed)
    for name, stage in (("whole", CONVOLVED), ("traced", WHOLE)):
        tensors |= {f"{name} {tensor}": values for tensor, values in run(stage, built, feed).items()}
    return tensors


def run(stage: Stage, built: dict[Stage, bytes], feed: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(built[stage], options, providers=["CPUExecutionProvider"])
    names = [tensor.part_name for tensor in stage.outputs]
    given = {tensor.part_name: feed[tensor.part_name] for tensor in stage.inputs}
    return dict(zip(names, session.run(names, given), strict=True))


def test_the_stages_are_the_pinned_ones(built: dict[Stage, bytes]) -> None:
    assert {stage.path: Digest.of(built[stage]) for stage in STAGES} == load().stages


def test_the_stages_say_what_the_whole_says(results: dict[str, NDArray[Any]]) -> None:
    audio, whole = results["audio"].astype(np.float64), results["whole audio"].astype(np.float64)
    assert float(np.abs(whole).max()) > 0.1
    np.testing.assert_allclose(audio, whole, atol=1 / 32768)  # a step of 16-bit audio
    np.testing.assert_array_equal(results["durations"], results["whole durations"])


def test_the_whole_says_what_was_traced_but_for_the_rounding_of_its_source(results: dict[str, NDArray[Any]]) -> None:
    audio, traced = results["whole audio"].astype(np.float64), results["traced audio"].astype(np.float64)
    assert float(np.corrcoef(audio, traced)[0, 1]) > 0.9999
    np.testing.assert_array_equal(results["whole durations"], results["traced durations"])


def test_nothing_in_a_stage_draws_random_numbers(built: dict[Stage, bytes]) -> None:
    for stage in (*STAGES, WHOLE):
        operators = {node.op_type for node in onnx.load_from_string(built[stage]).graph.node}
        assert operators
        assert not {name for name in operators if "Random" in name or name in {"Bernoulli", "Multinomial", "Dropout"}}


def test_every_tensor_at_the_cut_has_its_declared_shape(results: dict[str, NDArray[Any]]) -> None:
    tokens, frames = len(HELLO) + 2, int(results["durations"].sum())
    sizes = {"tokens": tokens, "frames": frames, "half_frames": 2 * frames, "spectra": 120 * frames + 1}
    for tensor in (*TEXT_STAGE.outputs, *DECODER_STAGE.outputs):
        expected = tuple(sizes.get(str(size), size) for size in tensor.shape)
        assert results[tensor.part_name].shape == expected, tensor.part_name
    assert results["audio"].shape == (600 * frames,)
