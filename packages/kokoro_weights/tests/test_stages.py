"""The real export in stages: together they say what the whole graph says, to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from kokoro_weights import prepare
from kokoro_weights.stages import FRAME_STAGE, STAGES, TEXT_STAGE, WHOLE, build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kokoro_weights import WeightsDirectory
    from kokoro_weights.stages import Stage
    from numpy.typing import NDArray

pytestmark = pytest.mark.weights
HELLO = [50, 83, 54, 156, 31, 16, 81, 86, 123, 4]
"""Token ids of "həlˈO, ðɛɹ." """


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages")


@pytest.fixture(scope="module")
def export(weights: WeightsDirectory) -> bytes:
    assert weights.onnx_model is not None
    return weights.onnx_model.read_bytes()


@pytest.fixture(scope="module")
def results(export: bytes, weights: WeightsDirectory) -> dict[str, NDArray[Any]]:
    """Every tensor at a cut, and the audio of the stages and of the whole."""
    feed = {
        "tokens": np.array([[0, *HELLO, 0]], dtype=np.int64),
        "style": weights.voice("af_heart")[len(HELLO) - 1].reshape(1, -1),
        "speed": np.ones(1, dtype=np.float32),
    }
    built = dict(build(export, (*STAGES, WHOLE)))
    tensors = run(TEXT_STAGE, built, feed)
    staged = run(FRAME_STAGE, built, tensors | feed)
    whole = run(WHOLE, built, feed)
    return tensors | staged | {f"whole {name}": values for name, values in whole.items()}


def run(stage: Stage, built: dict[Stage, bytes], feed: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(built[stage], options, providers=["CPUExecutionProvider"])
    names = [tensor.part_name for tensor in stage.outputs]
    given = {tensor.part_name: feed[tensor.part_name] for tensor in stage.inputs}
    return dict(zip(names, session.run(names, given), strict=True))


def test_the_stages_say_what_the_whole_says(results: dict[str, NDArray[Any]]) -> None:
    assert float(np.abs(results["audio"]).max()) > 0.1
    np.testing.assert_array_equal(results["audio"], results["whole audio"])
    np.testing.assert_array_equal(results["durations"], results["whole durations"])


def test_every_tensor_at_the_cut_has_its_declared_shape(results: dict[str, NDArray[Any]]) -> None:
    tokens, frames = len(HELLO) + 2, int(results["durations"].sum())
    sizes = {"tokens": tokens, "frames": frames, "half_frames": 2 * frames, "spectra": 120 * frames + 1}
    for tensor in TEXT_STAGE.outputs:
        expected = tuple(sizes.get(str(size), size) for size in tensor.shape)
        assert results[tensor.part_name].shape == expected, tensor.part_name
    assert results["audio"].shape == (600 * frames,)
