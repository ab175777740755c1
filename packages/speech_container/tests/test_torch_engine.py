"""The real model on its own torch modules."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory, prepare
from speech_container.engine import FRAME_SAMPLES, Utterance
from speech_container.errors import EngineFailed, EngineUnavailable
from speech_container.onnx_engine import OnnxEngine
from speech_container.pcm import pcm16

if TYPE_CHECKING:
    from speech_container.torch_engine import TorchEngine

pytestmark = [pytest.mark.torch, pytest.mark.weights, pytest.mark.timeout(300)]

SENTENCES = {
    "həlˈO ðˈɛɹ.": 1.525,
    "ðˈɪs ɪz ɐ pˈOst dəplˈYmənt ʧˈɛk.": 2.250,
    "ɪt hæz θɹˈi sˈɛntᵊnsᵻz.": 2.050,
}
"""Hello there. This is a post deployment check. It has three sentences. With the seconds that AWS published."""
HELLO, CHECK, _ = SENTENCES
TOLERANCE_FRAMES = 4
ITEMS = Path(__file__).parents[3] / "benchmarks" / "gpu_items.json"
HEARD_WORDS = (10, 18, 22)


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages", safetensors=True)


@pytest.fixture(scope="module")
def engine(weights: WeightsDirectory) -> "Iterator[TorchEngine]":
    engine = make(weights)
    engine.load()
    yield engine
    engine.close()


def make(weights: WeightsDirectory, **options: Any) -> "TorchEngine":
    from speech_container.torch_engine import TorchEngine

    assert weights.safetensors_model is not None
    return TorchEngine(weights.safetensors_model, weights.config, threads=2, **options)


def utterance(
    weights: WeightsDirectory, phonemes: str, *, voice: str = "af_heart", speed: float = 1.0, seed: int = 0
) -> Utterance:
    ids = tuple(weights.vocabulary[phoneme] for phoneme in phonemes)
    return Utterance(ids, weights.voice(voice)[len(ids) - 1], speed, seed)


@pytest.mark.parametrize(("phonemes", "published_s"), SENTENCES.items())
def test_durations_are_those_that_were_published_and_those_of_the_export(
    weights: WeightsDirectory, engine: "TorchEngine", phonemes: str, published_s: float
) -> None:
    assert weights.onnx_model is not None
    onnx = OnnxEngine(weights.onnx_model, threads=2)
    onnx.load()
    spoken = utterance(weights, phonemes)
    (waveform,), (exported,) = engine.synthesize([spoken]), onnx.synthesize([spoken])
    assert waveform.frames is not None
    assert exported.frames is not None
    assert waveform.lead_s == exported.lead_s > 0
    assert waveform.samples.dtype == np.float32
    assert len(waveform.frames) == len(spoken.token_ids) + 2
    assert waveform.frames.sum() * FRAME_SAMPLES == len(waveform.samples)
    assert abs(waveform.frames.sum() - published_s / 0.025) <= TOLERANCE_FRAMES
    assert abs(waveform.frames.sum() - exported.frames.sum()) <= TOLERANCE_FRAMES
    assert 0.05 < np.abs(waveform.samples).max() < 1.0


def test_an_utterance_sounds_the_same_whatever_came_before(weights: WeightsDirectory, engine: "TorchEngine") -> None:
    hello = utterance(weights, HELLO)
    (first,) = engine.synthesize([hello])
    _, again = engine.synthesize([utterance(weights, CHECK, voice="bm_george"), hello])
    np.testing.assert_array_equal(first.samples, again.samples)


def test_another_seed_is_other_noise_in_the_same_time(weights: WeightsDirectory, engine: "TorchEngine") -> None:
    one, other = engine.synthesize([utterance(weights, HELLO), utterance(weights, HELLO, seed=1)])
    np.testing.assert_array_equal(one.frames, other.frames)
    assert 0 < np.abs(one.samples - other.samples).max() < 0.3


def test_others_random_numbers_are_not_touched(weights: WeightsDirectory, engine: "TorchEngine") -> None:
    import torch

    torch.manual_seed(7)
    expected = torch.rand(2)
    torch.manual_seed(7)
    first = torch.rand(1)
    engine.synthesize([utterance(weights, HELLO)])
    assert torch.equal(torch.cat([first, torch.rand(1)]), expected)


def test_voice_and_speed_are_heard(weights: WeightsDirectory, engine: "TorchEngine") -> None:
    slow, fast, other = engine.synthesize(
        [
            utterance(weights, HELLO, speed=0.7),
            utterance(weights, HELLO, speed=1.5),
            utterance(weights, HELLO, voice="am_adam", speed=0.7),
        ]
    )
    assert fast.duration_s < slow.duration_s
    length = min(len(slow.samples), len(other.samples))
    assert not np.allclose(slow.samples[:length], other.samples[:length], atol=0.01)


def test_neither_loading_nor_speaking_opens_a_connection(
    weights: WeightsDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    engine = make(weights)
    engine.load()
    (waveform,) = engine.synthesize([utterance(weights, HELLO)])
    assert waveform.duration_s > 1


@pytest.mark.parametrize("tokens", [0, 511])
def test_more_than_the_window_is_refused(weights: WeightsDirectory, engine: "TorchEngine", tokens: int) -> None:
    with pytest.raises(EngineFailed, match="1 to 510"):
        engine.synthesize([Utterance((16,) * tokens, weights.voice("af_heart")[0])])


def test_a_whole_window_is_spoken(weights: WeightsDirectory, engine: "TorchEngine") -> None:
    text = (HELLO + " ") * 50
    (waveform,) = engine.synthesize([utterance(weights, text[:510], speed=2.0)])
    assert waveform.duration_s > 10


def test_before_it_is_loaded_it_says_so(weights: WeightsDirectory) -> None:
    with pytest.raises(EngineFailed, match="not loaded"):
        make(weights).synthesize([utterance(weights, HELLO)])


def test_on_a_cpu_utterances_are_made_one_by_one(engine: "TorchEngine") -> None:
    assert engine.max_batch == 1


def test_a_batch_has_what_its_utterances_have_alone_in_their_order(
    weights: WeightsDirectory, engine: "TorchEngine"
) -> None:
    batched = make(weights, max_batch=4)
    batched.load()
    assert batched.max_batch == 4
    said = [
        utterance(weights, CHECK, voice="bm_george", speed=0.8, seed=1),
        utterance(weights, HELLO, seed=2),
        utterance(weights, HELLO, voice="am_adam", speed=1.5, seed=3),
    ]
    for together, alone in zip(batched.synthesize(said), engine.synthesize(said), strict=True):
        np.testing.assert_array_equal(together.frames, alone.frames)
        assert len(together.samples) == len(alone.samples)
        assert np.corrcoef(together.samples, alone.samples)[0, 1] > 0.999
    batched.close()


def test_an_unmodified_kmodel_says_the_same_after_the_same_seed(
    weights: WeightsDirectory, engine: "TorchEngine"
) -> None:
    import torch
    from speech_container.kokoro_model import load_model

    assert weights.safetensors_model is not None
    kokoro = load_model(weights.safetensors_model, weights.config, "cpu")
    said = utterance(weights, HELLO, seed=5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        style = torch.from_numpy(said.style.reshape(1, -1).copy())
        samples, frames = kokoro.forward_with_tokens(torch.tensor([[0, *said.token_ids, 0]]), style)
    (ours,) = engine.synthesize([said])
    np.testing.assert_array_equal(ours.frames, frames)
    assert np.corrcoef(ours.samples, samples)[0, 1] > 0.999


def test_graphs_without_a_device_are_refused_with_what_to_use_instead(weights: WeightsDirectory) -> None:
    engine = make(weights, graphs=True)
    assert engine.name == "torch-graphs"
    with pytest.raises(EngineUnavailable, match=r"needs a CUDA device.*use torch"):
        engine.load()


def test_words_are_understood_no_worse_than_those_of_the_export(
    weights: WeightsDirectory, engine: "TorchEngine"
) -> None:
    """In three sentences of other lengths."""
    from tests.hearing import heard, word_errors, words

    assert weights.onnx_model is not None
    onnx = OnnxEngine(weights.onnx_model, threads=2)
    onnx.load()
    texts = [item for item in json.loads(ITEMS.read_text("utf-8"))["sentences"] if item["words"] in HEARD_WORDS]
    assert len(texts) == len(HEARD_WORDS)
    errors = {"torch": 0, "onnx": 0}
    for item in texts:
        said = utterance(weights, item["phonemes"])
        for name, speaker in (("torch", engine), ("onnx", onnx)):
            (waveform,) = speaker.synthesize([said])
            errors[name] += word_errors(words(item["text"]), heard(pcm16(waveform.samples)))
    assert errors["torch"] <= errors["onnx"]
    assert errors["torch"] <= sum(HEARD_WORDS) / 6
