"""The real model on the CPU."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory, prepare
from speech_container.alignment import word_times
from speech_container.engine import FRAME_SAMPLES, Utterance
from speech_container.errors import EngineFailed, EngineUnavailable
from speech_container.narration import Narrator
from speech_container.onnx_engine import OnnxEngine, with_output
from speech_container.synthesis import Spoken
from speech_container.voices import VoiceBook
from speech_protocol import Synthesize, VoiceOptions
from speech_text import FrontEnd

HELLO = "həlˈO ðˈɛɹ."


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages")


@pytest.fixture(scope="module")
def engine(weights: WeightsDirectory) -> Iterator[OnnxEngine]:
    assert weights.onnx_model is not None
    engine = OnnxEngine(weights.onnx_model, threads=2)
    engine.load()
    yield engine
    engine.close()


def utterance(weights: WeightsDirectory, phonemes: str, *, voice: str = "af_heart", speed: float = 1.0) -> Utterance:
    ids = tuple(weights.vocabulary[phoneme] for phoneme in phonemes)
    return Utterance(ids, weights.voice(voice)[len(ids) - 1], speed)


def test_the_second_output_is_a_well_formed_field() -> None:
    # ModelProto.graph (7) { GraphProto.output (12) { ValueInfoProto.name (1) "ab" } }, as protoc would write it
    assert with_output(b"model", "ab") == b"model" + bytes([7 << 3 | 2, 6, 12 << 3 | 2, 4, 1 << 3 | 2, 2]) + b"ab"
    assert with_output(b"", "x" * 200)[1:3] == bytes([0xCE, 0x01]), "a length of 206 takes two bytes"


@pytest.mark.weights
def test_durations_add_up_to_the_audio(weights: WeightsDirectory, engine: OnnxEngine) -> None:
    spoken = utterance(weights, HELLO)
    (waveform,) = engine.synthesize([spoken])
    assert waveform.samples.dtype == np.float32
    assert waveform.frames is not None
    assert len(waveform.frames) == len(spoken.token_ids) + 2
    assert waveform.frames.sum() * FRAME_SAMPLES == len(waveform.samples)
    assert abs(waveform.duration_s - 1.525) <= 4 * 0.025
    assert 0.05 < np.abs(waveform.samples).max() < 1.2


@pytest.mark.weights
def test_voice_and_speed_are_heard(weights: WeightsDirectory, engine: OnnxEngine) -> None:
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


@pytest.mark.weights
@pytest.mark.parametrize("tokens", [0, 511])
def test_more_than_the_window_is_refused(weights: WeightsDirectory, engine: OnnxEngine, tokens: int) -> None:
    style = weights.voice("af_heart")[0]
    with pytest.raises(EngineFailed, match="1 to 510"):
        engine.synthesize([Utterance((16,) * tokens, style)])


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"not a model")
    with pytest.raises(EngineUnavailable):
        OnnxEngine(model, threads=1).load()


@pytest.mark.weights
@pytest.mark.parametrize("speed", [0.7, 1.0, 1.5])
def test_words_are_timed_where_they_are_heard(weights: WeightsDirectory, engine: OnnxEngine, speed: float) -> None:
    narrator = Narrator(FrontEnd(weights.vocabulary), weights.vocabulary, VoiceBook.of_weights(weights))
    text = "Pat took ten big cakes, Peter got a copy of a paper."
    (line,) = narrator.script(Synthesize(text, VoiceOptions(speed=speed))).lines
    (waveform,) = engine.synthesize([line.utterance])
    times = word_times(Spoken(0, line, waveform))
    assert [time.word for time in times] == re.findall(r"\w+", text)
    assert all(one.end_s <= other.start_s for one, other in pairwise(times))
    assert waveform.duration_s - 0.6 / speed < times[-1].end_s < waveform.duration_s

    # Where the vowels are expected must fit the loudness better than any shift by more than two frames.
    assert waveform.frames is not None
    loudness = np.log(np.sqrt((waveform.samples.reshape(-1, 120) ** 2).mean(axis=1)) + 1e-3)  # in steps of 5 ms
    openness = [1.0 if phoneme in "aæəɛɪiɑuʊɹAIOᵊ" else 0.0 for phoneme in f" {line.segment.phonemes} "]
    expected = np.repeat(openness, waveform.frames * 5)
    lead = round(waveform.lead_s / 0.005)
    fits = [np.corrcoef(np.roll(loudness, lead + shift), expected)[0, 1] for shift in range(-40, 41)]
    assert abs(int(np.argmax(fits)) - 40) <= 10


@pytest.mark.weights
def test_an_utterance_of_low_latency_comes_in_chunks_where_there_are_stages() -> None:
    weights = prepare("packages", stages=True)
    assert weights.onnx_model is not None
    engine = OnnxEngine(weights.onnx_model, threads=2, stages=weights.stages, statistics=weights.norm_statistics())
    assert engine.latencies == ("exact", "low")
    engine.load()
    phonemes = "ðə kˈɛɾᵊl ɪz nˈɪɹli bˈYlɪŋ, ænd ðə tˈAbᵊl ɪz sˈɛt."
    asked = replace(utterance(weights, phonemes), latency="low", voice=(("af_heart", 1.0),))
    (chunk,), (exact,) = engine.synthesize([asked]), engine.synthesize([replace(asked, latency="exact")])
    samples = [chunk.samples]
    while chunk.rest is not None:
        (chunk,) = engine.synthesize([chunk.rest])
        samples.append(chunk.samples)
    assert len(samples) > 1
    assert chunk.frames is not None
    assert chunk.frames.sum() * FRAME_SAMPLES == sum(map(len, samples))
    assert abs(sum(map(len, samples)) - len(exact.samples)) <= 4 * FRAME_SAMPLES, (
        "int8 has other durations than float32"
    )
    (short,) = engine.synthesize([replace(asked, token_ids=asked.token_ids[:5])])
    assert short.rest is None
    engine.close()


def test_without_stages_every_sentence_is_whole() -> None:
    assert OnnxEngine(Path("nowhere"), threads=1).latencies == ("exact",)
