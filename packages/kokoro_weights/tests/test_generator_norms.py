"""The real generator without its norms: given a sentence's statistics it says what it said, window by window too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from kokoro_weights import prepare
from kokoro_weights.errors import CheckpointRefused
from kokoro_weights.float_graph import float_graph
from kokoro_weights.generator_norms import (
    CHANNELS,
    EPSILON,
    LOWER_CHANNELS,
    NORMS,
    SKETCHED,
    SKETCHED_CHANNELS,
    Norm,
    find_norms,
    sketched,
)
from kokoro_weights.graph_surgery import Tensor, cut, serialised
from kokoro_weights.sketch import thinned
from kokoro_weights.squared_sines import without_sines
from kokoro_weights.stages import (
    CONTEXT,
    DECODED_PER_FRAME,
    DECODER_STAGE,
    GENERATOR_STAGE,
    OBSERVED_STAGE,
    SKETCH_STAGE,
    SPECTRA_PER_FRAME,
    TEXT_STAGE,
    WINDOW_STAGE,
    build,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kokoro_weights import WeightsDirectory
    from kokoro_weights.stages import Stage
    from numpy.typing import NDArray
    from onnx import ModelProto

pytestmark = [pytest.mark.weights, pytest.mark.timeout(300)]
SENTENCE = [50, 83, 54, 156, 31, 16, 81, 86, 123, 16, 83, 54, 156, 31, 16, 81, 86, 123, 4]
"""Token ids of "həlˈO ðɛɹ həlˈO ðɛɹ." """
FRAME_SAMPLES = 600
SKETCHED_BLOCKS = ("resblocks.0", "resblocks.1", "resblocks.2", "resblocks.3")
Tensors = dict[str, Any]


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages")


@pytest.fixture(scope="module")
def run(weights: WeightsDirectory) -> Callable[[Stage, Tensors], Tensors]:
    """Runs a stage on onnxruntime."""
    assert weights.onnx_model is not None
    stages = (TEXT_STAGE, OBSERVED_STAGE, DECODER_STAGE, GENERATOR_STAGE, SKETCH_STAGE, WINDOW_STAGE)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    sessions = {
        stage: onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        for stage, data in build(weights.onnx_model.read_bytes(), stages)
    }

    def run_one(stage: Stage, tensors: Tensors) -> Tensors:
        names = [tensor.part_name for tensor in stage.outputs]
        given = {tensor.part_name: tensors[tensor.part_name] for tensor in stage.inputs}
        return dict(zip(names, sessions[stage].run(names, given), strict=True))

    return run_one


@pytest.fixture(scope="module")
def sentence(weights: WeightsDirectory, run: Callable[[Stage, Tensors], Tensors]) -> Tensors:
    """Every tensor of one sentence, with a and b from its own statistics; `audio` is the generator's."""
    tensors: Tensors = {
        "tokens": np.array([[0, *SENTENCE, 0]], dtype=np.int64),
        "style": weights.voice("af_heart")[len(SENTENCE) - 1].reshape(1, -1),
        "speed": np.ones(1, dtype=np.float32),
    }
    for stage in (TEXT_STAGE, OBSERVED_STAGE, DECODER_STAGE, GENERATOR_STAGE):
        tensors |= run(stage, tensors)
    factors = tensors["norm_gains"] / np.sqrt(tensors["norm_variances"] + np.float32(EPSILON))
    offsets = tensors["norm_shifts"] - tensors["norm_means"] * factors
    return tensors | {"norm_factors": factors, "norm_offsets": offsets}


@pytest.fixture(scope="module")
def one_pass(sentence: Tensors, run: Callable[[Stage, Tensors], Tensors]) -> NDArray[np.float32]:
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
    run: Callable[[Stage, Tensors], Tensors],
    begin: int,
    end: int | None,
) -> None:
    frames = int(sentence["durations"].sum())
    end = frames if end is None else end
    low, high = max(0, begin - CONTEXT), min(frames, end + CONTEXT)
    audio = run(WINDOW_STAGE, window(sentence, low, high))["audio"]
    kept = audio[(begin - low) * FRAME_SAMPLES : (end - low) * FRAME_SAMPLES]
    np.testing.assert_allclose(kept, one_pass[begin * FRAME_SAMPLES : end * FRAME_SAMPLES], atol=1e-4)


def test_the_sketched_norms_are_those_of_the_first_four_blocks(graph: ModelProto) -> None:
    norms = find_norms(graph)

    def channels(*modules: str) -> int:
        return sum(norm.channels for norm in norms if norm.name.startswith(modules))

    lower, higher = channels("resblocks.0", "resblocks.1", "resblocks.2"), channels("resblocks.3")
    begin = channels("noise_res")
    assert sum(channels(block) for block in SKETCHED_BLOCKS) == lower + higher
    assert (SKETCHED.start, SKETCHED.stop) == (begin, begin + lower + higher)
    assert (lower, lower + higher) == (LOWER_CHANNELS, SKETCHED_CHANNELS)


def test_what_a_sketch_tells_is_what_its_norms_see(
    graph: ModelProto, sentence: Tensors, run: Callable[[Stage, Tensors], Tensors]
) -> None:
    """Means and variances are taken apart from those of the norms, which are in the same graph."""
    norms = [norm for norm in find_norms(graph) if norm.name.startswith(SKETCHED_BLOCKS)]
    inner = [Tensor(name, "float32", (1, norm.channels, 1)) for norm in norms for name in (norm.mean, norm.variance)]
    both = cut(without_sines(sketched(graph)), "both", inputs=SKETCH_STAGE.inputs, outputs=inner)
    session = onnxruntime.InferenceSession(serialised(both), providers=["CPUExecutionProvider"])
    thin = {"decoded": thinned(sentence["decoded"]), "style": sentence["style"]}
    seen = [values.ravel() for values in session.run(None, thin)]
    told = run(SKETCH_STAGE, thin)
    np.testing.assert_allclose(told["sketch_means"].ravel(), np.concatenate(seen[::2]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(told["sketch_variances"].ravel(), np.concatenate(seen[1::2]), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("thin", [lambda decoded: decoded, thinned])
def test_a_sketch_is_like_its_sentence(
    sentence: Tensors, run: Callable[[Stage, Tensors], Tensors], thin: Callable[[Any], Any]
) -> None:
    told = run(SKETCH_STAGE, sentence | {"decoded": thin(sentence["decoded"])})
    means, variances = told["sketch_means"].ravel(), told["sketch_variances"].ravel()
    wanted = sentence["norm_means"][:, SKETCHED].ravel(), sentence["norm_variances"][:, SKETCHED].ravel()
    for rate in (slice(LOWER_CHANNELS), slice(LOWER_CHANNELS, None)):
        assert np.corrcoef(means[rate], wanted[0][rate])[0, 1] > 0.85
        assert np.corrcoef(np.log(variances[rate]), np.log(wanted[1][rate]))[0, 1] > 0.85


def test_less_context_is_too_little(
    sentence: Tensors, one_pass: NDArray[np.float32], run: Callable[[Stage, Tensors], Tensors]
) -> None:
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
