"""The real generator in chunks, on onnxruntime in float32: no seams, and the sound that whole sentences have."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kokoro_weights import WeightsDirectory, prepare
from kokoro_weights.norm_statistics import NormStatistics
from numpy.typing import NDArray
from speech_container.chunk_plan import CONTEXT_FRAMES, EXACT_BELOW_FRAMES, FIRST_FRAMES, chunk_frames, chunk_window
from speech_container.chunked_decoding import ChunkedDecoding
from speech_container.engine import FRAME_SAMPLES, KOKORO_LEAD_S, Utterance, Waveform
from speech_container.errors import EngineFailed
from speech_container.onnx_session import open_stage
from speech_container.stage import Run, Tensors, asked

from benchmarks.rig.sound import loudness_changes_db

pytestmark = [pytest.mark.weights, pytest.mark.timeout(300)]
PHONEMES = "ðə kˈɛɾᵊl ɪz nˈɪɹli bˈYlɪŋ, ænd ðə tˈAbᵊl ɪz sˈɛt."
VOICE = (("af_heart", 1.0),)


@pytest.fixture(scope="module")
def weights() -> WeightsDirectory:
    return prepare("packages", stages=True)


@pytest.fixture(scope="module")
def statistics(weights: WeightsDirectory) -> NormStatistics:
    table = weights.norm_statistics()
    assert table is not None
    return table


@pytest.fixture(scope="module")
def runs(weights: WeightsDirectory) -> dict[str, Run]:
    """Each stage by name."""
    assert weights.stages is not None
    names = ("text", "decoder", "generator", "sketch", "window")
    return {name: open_stage(getattr(weights.stages, name), threads=2) for name in names}


@pytest.fixture(scope="module")
def utterance(weights: WeightsDirectory) -> Utterance:
    ids = tuple(weights.vocabulary[phoneme] for phoneme in PHONEMES)
    return Utterance(ids, weights.voice("af_heart")[len(ids) - 1], latency="low", voice=VOICE)


@pytest.fixture(scope="module")
def said(runs: dict[str, Run], utterance: Utterance) -> Tensors:
    """The text stage's outputs, and the style."""
    question = asked(utterance)
    return {**question, **runs["text"](question)}


@pytest.fixture(scope="module")
def chunked(statistics: NormStatistics, runs: dict[str, Run]) -> ChunkedDecoding:
    return ChunkedDecoding(statistics, runs["decoder"], runs["sketch"], runs["window"])


@pytest.fixture(scope="module")
def chunks(chunked: ChunkedDecoding, utterance: Utterance, said: Tensors) -> list[Waveform]:
    """The whole utterance, chunk by chunk."""
    made = [chunked.begin(utterance, said)]
    while (rest := made[-1].rest) is not None:
        made.append(chunked.proceed(rest))
    return made


def joined(waveforms: list[Waveform]) -> NDArray[np.float32]:
    return np.concatenate([waveform.samples for waveform in waveforms])


def test_the_chunks_are_those_of_the_plan(chunks: list[Waveform], said: Tensors) -> None:
    frames = int(said["durations"].sum())
    assert tuple(len(chunk.samples) // FRAME_SAMPLES for chunk in chunks) == chunk_frames(frames)
    assert len(chunks) > 1
    for chunk in chunks:
        np.testing.assert_array_equal(chunk.frames, said["durations"].reshape(-1))
        assert chunk.lead_s == KOKORO_LEAD_S
        assert chunk.samples.dtype == np.float32


def test_there_is_no_seam(
    chunks: list[Waveform], statistics: NormStatistics, runs: dict[str, Run], utterance: Utterance, said: Tensors
) -> None:
    whole = ChunkedDecoding(statistics, runs["decoder"], runs["sketch"], runs["window"], plan=lambda frames: (frames,))
    one_pass = whole.begin(utterance, said)
    assert one_pass.rest is None
    assert float(np.abs(joined(chunks) - one_pass.samples).max()) < 1e-4


def test_it_sounds_as_the_whole_sentence_does(chunks: list[Waveform], runs: dict[str, Run], said: Tensors) -> None:
    exact = runs["generator"]({**said, **runs["decoder"](said)})["audio"].reshape(-1)
    low = joined(chunks)
    assert float(np.corrcoef(exact, low)[0, 1]) > 0.95
    changes_db, _ = loudness_changes_db(exact, low)
    assert float(changes_db.max()) < 1.5


def test_a_chunk_is_its_own_memory(chunks: list[Waveform]) -> None:
    assert all(chunk.samples.base is None for chunk in chunks)


def test_the_predicted_statistics_are_what_makes_it_sound_so(
    statistics: NormStatistics, runs: dict[str, Run], utterance: Utterance, said: Tensors
) -> None:
    """With another voice's statistics the first chunk is another sound: so the test above could fail."""
    other = next(name for name in statistics.voices if name.startswith("am_"))
    wrong = replace(utterance, voice=((other, 1.0),))
    decoding = ChunkedDecoding(statistics, runs["decoder"], runs["sketch"], runs["window"])
    right, other_sound = (decoding.begin(each, said).samples for each in (utterance, wrong))
    assert float(np.corrcoef(right, other_sound)[0, 1]) < 0.95


@pytest.mark.parametrize(
    ("changed", "frames", "taken"),
    [
        ({}, EXACT_BELOW_FRAMES, True),
        ({}, EXACT_BELOW_FRAMES - 1, False),
        ({"latency": "exact"}, 500, False),
        ({"voice": ()}, 500, False),
        ({"voice": (("af_heart", 0.5), ("nobody", 0.5))}, 500, False),
    ],
)
def test_what_cannot_be_predicted_is_made_whole(
    chunked: ChunkedDecoding, utterance: Utterance, changed: dict[str, Any], frames: int, taken: bool
) -> None:
    assert chunked.takes(replace(utterance, **changed), frames) is taken


def test_the_rest_of_another_engines_utterance_is_refused(chunked: ChunkedDecoding, utterance: Utterance) -> None:
    with pytest.raises(EngineFailed, match="another one came"):
        chunked.proceed(utterance)


def test_a_runtime_that_loses_samples_is_noticed(
    statistics: NormStatistics, runs: dict[str, Run], utterance: Utterance, said: Tensors
) -> None:
    def short(tensors: Tensors) -> Tensors:
        return {"audio": runs["window"](tensors)["audio"][:-1]}

    with pytest.raises(EngineFailed, match=f"{(FIRST_FRAMES + CONTEXT_FRAMES) * FRAME_SAMPLES - 1} samples"):
        ChunkedDecoding(statistics, runs["decoder"], runs["sketch"], short).begin(utterance, said)


def test_windows_are_grouped_by_length_and_bounded_in_number() -> None:
    """With stages that only count: five utterances of two lengths, three windows at most in a run."""
    runs: list[tuple[int, int]] = []

    def sound(tensors: Any) -> Any:
        items, frames = len(tensors["decoded"]), tensors["decoded"].shape[-1] // 2
        runs.append((items, frames))
        assert tensors["harmonics"].shape == (items, 22, 120 * frames + 1)
        level = tensors["norm_offsets"][:, :1, 0]
        return {"audio": np.repeat(level, frames * FRAME_SAMPLES, axis=1)}

    class Table:
        def predict(self, *_: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            return np.zeros(9216, dtype=np.float32), np.ones(9216, dtype=np.float32)

    def nothing(_: Any) -> Any:
        empty = np.zeros((1, 5376, 1), dtype=np.float32)
        return {"sketch_means": empty, "sketch_variances": empty}

    table: Any = Table()
    decoding = ChunkedDecoding(table, dict, nothing, sound, max_windows=3)

    def opened(number: int, frames: int) -> Utterance:
        tensors = {
            "durations": np.array([frames]),
            "decoded": np.zeros((1, 512, 2 * frames), dtype=np.float32),
            "harmonics": np.zeros((1, 22, 120 * frames + 1), dtype=np.float32),
            "style": np.zeros((1, 256), dtype=np.float32),
            "norm_gains": np.zeros((1, 9216, 1), dtype=np.float32),
            "norm_shifts": np.full((1, 9216, 1), number, dtype=np.float32),
        }
        return decoding.opened(Utterance((1,), np.zeros(256, dtype=np.float32)), tensors)

    batch = [opened(number, frames=200) for number in range(4)]
    second = decoding.proceed(batch[0]).rest
    assert second is not None
    runs.clear()
    waveforms = decoding.proceed_all([*batch, second])
    first_window, second_window = (chunk_window(chunk_frames(200), index) for index in (0, 1))
    assert runs == [
        (3, first_window.end - first_window.begin),
        (1, first_window.end - first_window.begin),
        (1, second_window.end - second_window.begin),
    ]
    assert [float(waveform.samples[0]) for waveform in waveforms] == [0, 1, 2, 3, 0]
    assert [len(waveform.samples) // FRAME_SAMPLES for waveform in waveforms] == [16, 16, 16, 16, 32]
