"""The real generator without its norms: given a sentence's statistics it says what it said, window by window too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from kokoro_weights import prepare
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.float_graph import float_graph
from kokoro_weights.generator_norms import (
    CHANNELS,
    EPSILON,
    NORMS,
    Norm,
    find_norms,
)
from kokoro_weights.stages import (
    CONTEXT,
    DECODED_PER_FRAME,
    DECODER_STAGE,
    GENERATOR_STAGE,
    OBSERVED_STAGE,
    SPECTRA_PER_FRAME,
    TEXT_STAGE,
    WINDOW_STAGE,
)

from packages.kokoro_weights.tests.stage_runs import StageRuns, Tensors

if TYPE_CHECKING:
    from kokoro_weights import WeightsDirectory
    from numpy.typing import NDArray
    from onnx import ModelProto

pytestmark = [pytest.mark.weights, pytest.mark.timeout(300)]
FRAME_SAMPLES = 600


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages")


@pytest.fixture(scope="module")
def run(weights: WeightsDirectory) -> StageRuns:
    return StageRuns(weights, TEXT_STAGE, OBSERVED_STAGE, DECODER_STAGE, GENERATOR_STAGE, WINDOW_STAGE)


@pytest.fixture(scope="module")
def sentence(weights: WeightsDirectory, run: StageRuns) -> Tensors:
    """Every tensor of one sentence, with a and b from its own statistics; `audio` is the generator's."""
    tensors = run.said(weights, TEXT_STAGE, OBSERVED_STAGE, DECODER_STAGE, GENERATOR_STAGE)
    factors = tensors["norm_gains"] / np.sqrt(tensors["norm_variances"] + np.float32(EPSILON))
    offsets = tensors["norm_shifts"] - tensors["norm_means"] * factors
    return tensors | {"norm_factors": factors, "norm_offsets": offsets}


@pytest.fixture(scope="module")
def one_pass(sentence: Tensors, run: StageRuns) -> NDArray[np.float32]:
    """The generator without norms over all frames."""
    audio: NDArray[np.float32] = run(WINDOW_STAGE, sentence)["audio"]
    return audio


def window(sentence: Tensors, begin: int, end: int) -> Tensors:
    """The generator's inputs for frames from `begin` to `end`."""
    return sentence | {
        "decoded": sentence["decoded"][..., DECODED_PER_FRAME * begin : DECODED_PER_FRAME * end],
        "harmonics": sentence["harmonics"][..., SPECTRA_PER_FRAME * begin : SPECTRA_PER_FRAME * end + 1],
    }


def test_given_its_own_statistics_it_says_what_the_generator_says(
    sentence: Tensors, one_pass: NDArray[np.float32]
) -> None:
    assert float(np.abs(sentence["audio"]).max()) > 0.1
    assert one_pass.shape == sentence["audio"].shape
    np.testing.assert_allclose(one_pass, sentence["audio"], atol=2e-5)


@pytest.mark.parametrize(("begin", "end"), [(0, 20), (20, 33), (33, None)])
def test_a_window_with_context_is_a_piece_of_the_one_pass(
    sentence: Tensors,
    one_pass: NDArray[np.float32],
    run: StageRuns,
    begin: int,
    end: int | None,
) -> None:
    frames = int(sentence["durations"].sum())
    end = frames if end is None else end
    low, high = max(0, begin - CONTEXT), min(frames, end + CONTEXT)
    audio = run(WINDOW_STAGE, window(sentence, low, high))["audio"]
    kept = audio[(begin - low) * FRAME_SAMPLES : (end - low) * FRAME_SAMPLES]
    np.testing.assert_allclose(kept, one_pass[begin * FRAME_SAMPLES : end * FRAME_SAMPLES], atol=1e-4)


def test_less_context_is_too_little(sentence: Tensors, one_pass: NDArray[np.float32], run: StageRuns) -> None:
    audio = run(WINDOW_STAGE, window(sentence, 18, 35))["audio"][2 * FRAME_SAMPLES : 15 * FRAME_SAMPLES]
    assert float(np.abs(audio - one_pass[20 * FRAME_SAMPLES : 33 * FRAME_SAMPLES]).max()) > 1e-4


def test_every_tensor_at_the_second_cut_has_its_shape(sentence: Tensors) -> None:
    frames = int(sentence["durations"].sum())
    assert sentence["decoded"].shape == (1, 512, DECODED_PER_FRAME * frames)
    assert sentence["harmonics"].shape == (1, 22, SPECTRA_PER_FRAME * frames + 1)
    for name in ("norm_means", "norm_variances", "norm_gains", "norm_shifts"):
        assert sentence[name].shape == (1, CHANNELS, 1)
    assert (sentence["norm_variances"] > 0).all()


@pytest.fixture(scope="module")
def graph(weights: WeightsDirectory) -> ModelProto:
    assert weights.onnx_model is not None
    return float_graph(weights.onnx_model.read_bytes())


def test_the_norms_have_the_names_of_kokoros_modules_in_their_order(graph: ModelProto) -> None:
    norms = find_norms(graph)
    assert len(norms) == NORMS
    assert [norm.name for norm in norms[:4]] == [
        "noise_res.0.adain1.0",
        "noise_res.0.adain1.1",
        "noise_res.0.adain1.2",
        "noise_res.0.adain2.0",
    ]
    assert norms[-1].name == "resblocks.5.adain2.2"
    assert {norm.channels for norm in norms} == {128, 256}


def test_norms_of_one_input_share_their_statistics(graph: ModelProto) -> None:
    by_name = {norm.name: norm for norm in find_norms(graph)}
    first: list[Norm] = [by_name[f"resblocks.{block}.adain1.0"] for block in (0, 1, 2)]
    assert len({(norm.source, norm.mean, norm.variance) for norm in first}) == 1
    assert len({norm.gain for norm in first}) == len({norm.output for norm in first}) == 3


def test_a_norm_that_is_spelled_otherwise_is_refused(graph: ModelProto) -> None:
    changed = type(graph)()
    changed.CopyFrom(graph)
    (node,) = (node for node in changed.graph.node if node.name.endswith("noise_res.0/adain1.0/Sqrt"))
    node.op_type = "Exp"
    with pytest.raises(CheckpointRefused, match=r"noise_res.0/adain1.0 is not spelled"):
        find_norms(changed)


def test_a_generator_that_lacks_a_norm_is_refused(graph: ModelProto) -> None:
    changed = type(graph)()
    changed.CopyFrom(graph)
    (node,) = (node for node in changed.graph.node if node.name.endswith("noise_res.1/adain2.2/fc/Gemm_Add"))
    node.name = "another"
    with pytest.raises(
        CheckpointRefused, match="expected 48 norms of 9216 channels in the generator, found 47 of 9088"
    ):
        find_norms(changed)
