"""The real generator in a third of its time: what it tells of a sentence, and what of the sentence it hears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest
from kokoro_weights import prepare
from kokoro_weights.float_graph import float_graph
from kokoro_weights.generator_norms import find_norms
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from kokoro_weights.sketch import LOWER_CHANNELS, SKETCHED, SKETCHED_CHANNELS, THINNINGS, sketched
from kokoro_weights.squared_sines import without_sines
from kokoro_weights.stages import OBSERVED_STAGE, SKETCH_STAGE, TEXT_STAGE

from packages.kokoro_weights.tests.stage_runs import StageRuns, Tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from kokoro_weights import WeightsDirectory
    from numpy.typing import NDArray
    from onnx import ModelProto

pytestmark = [pytest.mark.weights, pytest.mark.timeout(300)]
BLOCKS = ("resblocks.0", "resblocks.1", "resblocks.2", "resblocks.3")
COLUMNS = THINNINGS[0].columns
type Sketch = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages")


@pytest.fixture(scope="module")
def graph(weights: WeightsDirectory) -> ModelProto:
    assert weights.onnx_model is not None
    return float_graph(weights.onnx_model.read_bytes())


@pytest.fixture(scope="module")
def run(weights: WeightsDirectory) -> StageRuns:
    return StageRuns(weights, TEXT_STAGE, OBSERVED_STAGE, SKETCH_STAGE)


@pytest.fixture(scope="module")
def sentence(weights: WeightsDirectory, run: StageRuns) -> Tensors:
    """Every tensor of one sentence, up to its own statistics."""
    return run.said(weights, TEXT_STAGE, OBSERVED_STAGE)


@pytest.fixture(scope="module")
def told(run: StageRuns, sentence: Tensors) -> Sketch:
    """Means, then log variances, of a sketch of `decoded`: float32 [2, 5376]."""

    def of(decoded: NDArray[np.float32]) -> NDArray[np.float32]:
        sketch = run(SKETCH_STAGE, sentence | {"decoded": decoded})
        return np.array([sketch["sketch_means"].ravel(), np.log(sketch["sketch_variances"].ravel())])

    return of


def test_the_sketched_norms_are_those_of_the_first_four_blocks(graph: ModelProto) -> None:
    norms = find_norms(graph)

    def channels(*modules: str) -> int:
        return sum(norm.channels for norm in norms if norm.name.startswith(modules))

    begin, lower, every = channels("noise_res"), channels(*BLOCKS[:3]), channels(*BLOCKS)
    assert (SKETCHED.start, SKETCHED.stop) == (begin, begin + every)
    assert (lower, every) == (LOWER_CHANNELS, SKETCHED_CHANNELS)


def test_what_it_tells_is_what_its_norms_see(graph: ModelProto, sentence: Tensors, told: Sketch) -> None:
    """Means and variances are taken apart from those of the norms, which are in the same graph."""
    norms = [norm for norm in find_norms(graph) if norm.name.startswith(BLOCKS)]
    inner = [Tensor(name, "float32", (1, norm.channels, 1)) for norm in norms for name in (norm.mean, norm.variance)]
    norms_too = cut(without_sines(sketched(graph)), "norms", inputs=SKETCH_STAGE.inputs, outputs=inner)
    session = onnxruntime.InferenceSession(serialised(norms_too), providers=["CPUExecutionProvider"])
    seen = [each.ravel() for each in session.run(None, {key: sentence[key] for key in ("decoded", "style")})]
    means, log_variances = told(sentence["decoded"])
    np.testing.assert_allclose(means, np.concatenate(seen[::2]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(log_variances, np.log(np.concatenate(seen[1::2])), atol=1e-3)


def test_it_is_like_its_sentence_at_either_rate(sentence: Tensors, told: Sketch) -> None:
    means, log_variances = told(sentence["decoded"])
    wanted = sentence["norm_means"][:, SKETCHED].ravel(), np.log(sentence["norm_variances"][:, SKETCHED].ravel())
    for rate in (slice(LOWER_CHANNELS), slice(LOWER_CHANNELS, None)):
        assert np.corrcoef(means[rate], wanted[0][rate])[0, 1] > 0.85
        assert np.corrcoef(log_variances[rate], wanted[1][rate])[0, 1] > 0.85


def test_it_hears_every_three_columns_as_one(sentence: Tensors, told: Sketch) -> None:
    decoded = sentence["decoded"][..., : sentence["decoded"].shape[-1] // COLUMNS * COLUMNS]
    means = decoded.reshape(*decoded.shape[:-1], -1, COLUMNS).mean(axis=-1)
    np.testing.assert_allclose(told(np.repeat(means, COLUMNS, axis=-1)), told(decoded), atol=1e-3)
    assert np.abs(told(np.roll(decoded, 1, axis=-1)) - told(decoded)).max() > 0.01, "of other columns it tells others"


@pytest.mark.parametrize("left_over", range(1, COLUMNS))
def test_what_is_left_over_is_not_in_it(sentence: Tensors, told: Sketch, left_over: int) -> None:
    decoded = sentence["decoded"][..., : 20 * COLUMNS]
    longer = np.concatenate([decoded, np.full((1, 512, left_over), 99, dtype=np.float32)], axis=-1)
    np.testing.assert_array_equal(told(longer), told(decoded))
