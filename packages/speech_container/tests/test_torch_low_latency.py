"""The torch engine in chunks: no seams, the sound of whole sentences, and company that is not heard."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory, prepare
from numpy.typing import NDArray
from speech_container import onnx_session
from speech_container.chunk_plan import EXACT_BELOW_FRAMES, chunk_frames
from speech_container.engine import FRAME_SAMPLES, KOKORO_LEAD_S, Utterance, Waveform
from speech_container.errors import EngineFailed

from benchmarks.rig.sound import loudness_changes_db

if TYPE_CHECKING:
    from speech_container.torch_engine import TorchEngine

pytestmark = [pytest.mark.torch, pytest.mark.weights, pytest.mark.timeout(300)]

LONG = "ðə kˈɛɾᵊl ɪz nˈɪɹli bˈYlɪŋ, ænd ðə tˈAbᵊl ɪz sˈɛt."
LONGER = "wɛn ðə tɹˈAn fˈInᵊli əɹˈIvd æt ðə smˈɔl stˈAʃᵊn, ðə mˈæn wʌz wˈATɪŋ."
SHORT = "həlˈO ðˈɛɹ."
TWO_CORES = 2


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages", safetensors=True, stages=True)


@pytest.fixture(scope="module")
def engine(weights: WeightsDirectory) -> "Iterator[TorchEngine]":
    """Takes three at once, as on a device."""
    from speech_container.torch_engine import TorchEngine

    assert weights.safetensors_model is not None
    statistics = weights.norm_statistics(noise=True)
    engine = TorchEngine(weights.safetensors_model, weights.config, statistics, threads=TWO_CORES, max_batch=3)
    engine.load()
    yield engine
    engine.close()


def utterance(weights: WeightsDirectory, phonemes: str, voice: str = "af_heart", **options: Any) -> Utterance:
    ids = tuple(weights.vocabulary[phoneme] for phoneme in phonemes)
    said = Utterance(ids, weights.voice(voice)[len(ids) - 1], latency="low", voice=((voice, 1.0),))
    return replace(said, **options)


def in_chunks(engine: "TorchEngine", said: Utterance) -> list[Waveform]:
    made = engine.synthesize([said])
    while (rest := made[-1].rest) is not None:
        made += engine.synthesize([rest])
    return made


def joined(waveforms: list[Waveform]) -> NDArray[np.float32]:
    return np.concatenate([waveform.samples for waveform in waveforms])


@pytest.fixture(scope="module")
def chunks(engine: "TorchEngine", weights: WeightsDirectory) -> list[Waveform]:
    return in_chunks(engine, utterance(weights, LONG))


@pytest.fixture(scope="module")
def exact(engine: "TorchEngine", weights: WeightsDirectory) -> Waveform:
    (waveform,) = engine.synthesize([utterance(weights, LONG, latency="exact")])
    assert waveform.rest is None
    return waveform


def test_the_engine_says_that_it_can(engine: "TorchEngine") -> None:
    assert engine.latencies == ("exact", "low")


def test_the_chunks_are_those_of_the_plan_and_have_the_whole_sentences_durations(
    chunks: list[Waveform], exact: Waveform
) -> None:
    assert exact.frames is not None
    planned = chunk_frames(int(exact.frames.sum()))
    assert tuple(len(chunk.samples) // FRAME_SAMPLES for chunk in chunks) == planned
    assert len(chunks) > 1
    for index, chunk in enumerate(chunks):
        np.testing.assert_array_equal(chunk.frames, exact.frames)
        assert chunk.lead_s == KOKORO_LEAD_S
        assert chunk.to_come_s == tuple(frames * FRAME_SAMPLES / 24_000 for frames in planned[index + 1 :])


def test_it_sounds_as_the_whole_sentence_with_the_same_noise_does(chunks: list[Waveform], exact: Waveform) -> None:
    low = joined(chunks)
    assert float(np.corrcoef(exact.samples, low)[0, 1]) > 0.95
    changes_db, _ = loudness_changes_db(exact.samples, low)
    assert float(changes_db.max()) < 1.5


def test_statistics_of_a_source_without_noise_would_be_heard(
    weights: WeightsDirectory, chunks: list[Waveform], exact: Waveform
) -> None:
    """So the table of its own is what makes it sound so."""
    from speech_container.torch_engine import TorchEngine

    assert weights.safetensors_model is not None
    other = TorchEngine(weights.safetensors_model, weights.config, weights.norm_statistics(), threads=TWO_CORES)
    other.load()
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = joined(in_chunks(other, utterance(weights, LONG)))

    def error(low: NDArray[np.float32]) -> float:
        return float(np.nan_to_num(np.square(low - exact.samples), nan=1.0).mean())

    assert error(wrong) > 3 * error(joined(chunks))


def test_there_is_no_seam(engine: "TorchEngine", weights: WeightsDirectory, chunks: list[Waveform]) -> None:
    """What chunks of a few frames are together is what one pass over all of them makes."""
    said = utterance(weights, LONG)
    first = engine.synthesize([said])[0]
    assert first.rest is not None
    sentence: Any = first.rest.progress
    frames = sum(sentence.chunks)
    whole = replace(sentence, chunks=(frames,), given=0)
    (one_pass,) = engine.synthesize([replace(said, progress=whole)])
    assert one_pass.rest is None
    assert float(np.abs(joined(chunks) - one_pass.samples).max()) < 1e-4


def test_the_sketch_is_the_exports(engine: "TorchEngine", weights: WeightsDirectory) -> None:
    """The table was measured with the export's: statistics of 5,376 channels, of both rates."""
    import torch
    from speech_container.batched.model import BatchedModel
    from speech_container.batched.windows import WindowStages
    from speech_container.kokoro_model import load_model

    assert weights.stages is not None
    assert weights.safetensors_model is not None
    first = engine.synthesize([utterance(weights, LONG)])[0]
    assert first.rest is not None
    sentence: Any = first.rest.progress
    asked = {"decoded": sentence.tensors["decoded"], "style": first.rest.style.reshape(1, -1).copy()}
    exported = onnx_session.open_stage(weights.stages.sketch, threads=TWO_CORES)(asked)
    stages = WindowStages(BatchedModel(load_model(weights.safetensors_model, weights.config, "cpu"), torch.float32))
    ours = stages.sketch(asked)
    for name in ("sketch_means", "sketch_variances"):
        assert ours[name].shape == exported[name].shape
    deviations = np.sqrt(exported["sketch_variances"])
    assert float(np.abs((ours["sketch_means"] - exported["sketch_means"]) / deviations).max()) < 0.01
    assert float(np.abs(np.log(ours["sketch_variances"] / exported["sketch_variances"])).max()) < 0.01


def test_company_is_not_heard(engine: "TorchEngine", weights: WeightsDirectory) -> None:
    """Whole, begun and gone on with in one batch: each gets in its place what it gets alone."""
    whole = utterance(weights, LONG, latency="exact", seed=1)
    begins = utterance(weights, LONGER, "bm_george", seed=2)
    rest = engine.synthesize([utterance(weights, LONG, "am_adam", seed=3)])[0].rest
    assert rest is not None
    batch = [rest, whole, begins]
    for together, said in zip(engine.synthesize(batch), batch, strict=True):
        (alone,) = engine.synthesize([said])
        np.testing.assert_array_equal(together.frames, alone.frames)
        assert together.to_come_s == alone.to_come_s
        assert float(np.corrcoef(together.samples, alone.samples)[0, 1]) > 0.999, "but for the text side's last bits"


def test_windows_of_one_length_are_made_together(engine: "TorchEngine", weights: WeightsDirectory) -> None:
    begun = [utterance(weights, LONG), utterance(weights, LONGER, "bm_george"), utterance(weights, LONG, "am_adam")]
    rests = [rest for said in begun if (rest := engine.synthesize([said])[0].rest) is not None]
    together = engine.synthesize(rests)
    assert [len(waveform.samples) for waveform in together] == [32 * FRAME_SAMPLES] * 3
    for waveform, rest in zip(together, rests, strict=True):
        np.testing.assert_allclose(waveform.samples, engine.synthesize([rest])[0].samples, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("phonemes", "options"),
    [(SHORT, {}), (LONG, {"voice": (("nobody", 1.0),)}), (LONG, {"voice": ()}), (LONG, {"latency": "exact"})],
    ids=["short", "of a voice that nobody has measured", "of no voice", "exact"],
)
def test_what_is_not_to_be_made_in_chunks_is_made_whole(
    engine: "TorchEngine", weights: WeightsDirectory, phonemes: str, options: dict[str, Any]
) -> None:
    (waveform,) = engine.synthesize([replace(utterance(weights, phonemes), **options)])
    assert waveform.rest is None
    assert waveform.frames is not None
    assert len(waveform.samples) == waveform.frames.sum() * FRAME_SAMPLES
    assert (waveform.frames.sum() < EXACT_BELOW_FRAMES) == (phonemes == SHORT)


def test_the_rest_of_an_utterance_that_another_engine_has_begun_is_refused(
    engine: "TorchEngine", weights: WeightsDirectory
) -> None:
    from speech_container.torch_engine import TorchEngine

    class Other:
        to_come_s = (1.0,)

    with pytest.raises(EngineFailed, match="another one came"):
        engine.synthesize([utterance(weights, LONG, progress=Other())])
    assert weights.safetensors_model is not None
    plain = TorchEngine(weights.safetensors_model, weights.config, threads=TWO_CORES)
    assert plain.latencies == ("exact",)
    plain.load()
    with pytest.raises(EngineFailed, match="no statistics here"):
        plain.synthesize([utterance(weights, LONG, progress=Other())])
