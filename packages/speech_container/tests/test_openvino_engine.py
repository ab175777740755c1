"""The real model in two stages: the float32 graph's durations and sound, and no more memory for each new length."""

import logging
import platform
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from kokoro_weights import WeightsDirectory, prepare
from numpy.typing import NDArray
from speech_container.engine import FRAME_SAMPLES, Utterance, Waveform
from speech_container.errors import EngineFailed, EngineUnavailable
from speech_container.onnx_session import open_stage
from speech_container.openvino_engine import OpenVinoEngine
from speech_container.processor import multiplies_bfloat16
from speech_container.stage import asked

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(
        (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the lock has no openvino for this platform"
    ),
]

PHONEMES = {
    "af_heart": "ðə kˈɛɾᵊl ɪz nˈɪɹli bˈYlɪŋ.",
    "bm_george": "həlˈQ ðˈɛː.",
}


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages", stages=True)


def opened(weights: WeightsDirectory, *, bfloat16: bool) -> OpenVinoEngine:
    assert weights.stages is not None
    engine = OpenVinoEngine(weights.stages, weights.norm_statistics(), threads=2, bfloat16=bfloat16)
    engine.load()
    return engine


@pytest.fixture(scope="module")
def engine(weights: WeightsDirectory) -> Iterator[OpenVinoEngine]:
    """In the precision that a server here would choose."""
    engine = opened(weights, bfloat16=multiplies_bfloat16())
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def utterances(weights: WeightsDirectory) -> list[Utterance]:
    made = []
    for voice, phonemes in PHONEMES.items():
        ids = tuple(weights.vocabulary[phoneme] for phoneme in phonemes)
        made.append(Utterance(ids, weights.voice(voice)[len(ids) - 1], speed=1.1))
    return made


@pytest.fixture(scope="module")
def exact(weights: WeightsDirectory, utterances: list[Utterance]) -> list[Waveform]:
    """All stages in float32 on onnxruntime, which is the whole float graph (test_stages of kokoro_weights)."""
    assert weights.stages is not None
    stages = (weights.stages.text, weights.stages.decoder, weights.stages.generator)
    runs = [open_stage(stage, threads=2) for stage in stages]
    waveforms = []
    for utterance in utterances:
        tensors = asked(utterance)
        for run in runs:
            tensors |= run(tensors)
        waveforms.append(Waveform(tensors["audio"].reshape(-1), tensors["durations"].reshape(-1)))
    return waveforms


def correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def test_the_durations_are_those_of_the_float_graph(
    engine: OpenVinoEngine, utterances: list[Utterance], exact: list[Waveform]
) -> None:
    for utterance, made, wanted in zip(utterances, engine.synthesize(utterances), exact, strict=True):
        assert made.frames is not None
        assert wanted.frames is not None
        assert made.frames.tolist() == wanted.frames.tolist()
        assert len(made.frames) == len(utterance.token_ids) + 2
        assert made.frames.sum() * FRAME_SAMPLES == len(made.samples)


def test_the_sound_is_that_of_the_float_graph(
    engine: OpenVinoEngine, utterances: list[Utterance], exact: list[Waveform]
) -> None:
    for made, wanted in zip(engine.synthesize(utterances), exact, strict=True):
        assert made.samples.dtype == np.float32
        assert 0.05 < np.abs(made.samples).max() < 1.2
        assert correlation(made.samples, wanted.samples) > 0.999


def test_in_float32_it_is_so_to_the_last_bit_of_16(
    weights: WeightsDirectory, utterances: list[Utterance], exact: list[Waveform], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        engine = opened(weights, bfloat16=False)
    assert not caplog.records, "this release of OpenVINO should know all properties"
    (made,) = engine.synthesize(utterances[1:])
    engine.close()
    assert np.abs(made.samples - exact[1].samples).max() < 1 / 32768


def test_the_same_utterance_is_the_same_samples_whatever_came_before(
    engine: OpenVinoEngine, utterances: list[Utterance]
) -> None:
    first, _, again = engine.synthesize([utterances[0], utterances[1], utterances[0]])
    np.testing.assert_array_equal(first.samples, again.samples)


def test_a_waveform_is_its_own_memory(engine: OpenVinoEngine, utterances: list[Utterance]) -> None:
    (first,) = engine.synthesize(utterances[:1])
    before = first.samples.copy()
    engine.synthesize(utterances[1:])
    np.testing.assert_array_equal(first.samples, before)


@pytest.mark.parametrize("tokens", [0, 511])
def test_more_than_the_window_is_refused(engine: OpenVinoEngine, weights: WeightsDirectory, tokens: int) -> None:
    with pytest.raises(EngineFailed, match="1 to 510"):
        engine.synthesize([Utterance((16,) * tokens, weights.voice("af_heart")[0])])


def test_a_file_that_is_no_model_is_refused(weights: WeightsDirectory, tmp_path: Path) -> None:
    assert weights.stages is not None
    broken = tmp_path / "generator.onnx"
    broken.write_bytes(b"not a model")
    with pytest.raises(EngineUnavailable, match="OpenVINO cannot load"):
        OpenVinoEngine(replace(weights.stages, generator=broken), threads=1, bfloat16=False).load()


def test_before_it_is_loaded_it_says_so(weights: WeightsDirectory, utterances: list[Utterance]) -> None:
    assert weights.stages is not None
    with pytest.raises(EngineFailed, match="not loaded"):
        OpenVinoEngine(weights.stages, threads=1, bfloat16=False).synthesize(utterances[:1])


LONG = "ðə kˈɛɾᵊl ɪz nˈɪɹli bˈYlɪŋ, ænd ðə tˈAbᵊl ɪz sˈɛt."


@pytest.fixture
def long(weights: WeightsDirectory) -> Utterance:
    ids = tuple(weights.vocabulary[phoneme] for phoneme in LONG)
    return Utterance(ids, weights.voice("af_heart")[len(ids) - 1], latency="low", voice=(("af_heart", 1.0),))


def test_an_utterance_of_low_latency_comes_in_chunks_of_the_same_speech(
    engine: OpenVinoEngine, long: Utterance
) -> None:
    assert engine.latencies == ("exact", "low")
    (exact,) = engine.synthesize([replace(long, latency="exact")])
    chunks = engine.synthesize([long])
    while (rest := chunks[-1].rest) is not None:
        chunks += engine.synthesize([rest])
    assert len(chunks) > 1
    assert exact.rest is None
    for chunk in chunks:
        assert chunk.frames is not None
        np.testing.assert_array_equal(chunk.frames, exact.frames)
    low = np.concatenate([chunk.samples for chunk in chunks])
    assert correlation(low, exact.samples) > 0.95


@pytest.mark.parametrize("changed", [{"voice": (("nobody", 1.0),)}, {"token_ids": (50, 83, 54)}, {"speed": 2.0}])
def test_what_is_short_or_not_calibrated_is_exact(
    engine: OpenVinoEngine, long: Utterance, changed: dict[str, Any]
) -> None:
    asked = replace(long, **changed)
    (exact,), (low,) = engine.synthesize([replace(asked, latency="exact")]), engine.synthesize([asked])
    assert low.rest is None
    np.testing.assert_array_equal(low.samples, exact.samples)


def test_without_statistics_every_sentence_is_whole(weights: WeightsDirectory) -> None:
    assert weights.stages is not None
    assert OpenVinoEngine(weights.stages, threads=1, bfloat16=False).latencies == ("exact",)


@pytest.mark.slow
def test_new_lengths_do_not_grow_the_memory(engine: OpenVinoEngine, weights: WeightsDirectory) -> None:
    style, process = weights.voice("af_heart"), psutil.Process()
    lengths: set[int] = set()
    wanted = (
        Utterance(tuple(range(43, 43 + tokens)), style[tokens - 1], speed)
        for tokens in range(8, 0, -1)  # the longest first, for what depends on that
        for speed in (1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0)
    )

    def speak_until(count: int) -> int:
        """The resident bytes once there were utterances of `count` lengths."""
        while len(lengths) < count:
            (waveform,) = engine.synthesize([next(wanted)])
            lengths.add(len(waveform.samples))
        return process.memory_info().rss

    settled = speak_until(15)
    assert speak_until(30) - settled < 50 << 20, "15 more lengths would take 7 MB each if all were kept"
