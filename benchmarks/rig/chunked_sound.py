"""One utterance made in every way that low latency is compared with, by the stages that the server's engines run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from kokoro_weights import StageFiles, WeightsDirectory
from kokoro_weights.norm_statistics import NormStatistics
from speech_container import onnx_session, openvino_session
from speech_container.chunk_plan import chunk_frames
from speech_container.chunked_decoding import ChunkedDecoding
from speech_container.engine import Utterance
from speech_container.stage import Run, Tensors, asked

from benchmarks.rig.sound import Audio

type Plan = Callable[[int], tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """The same utterance, float32 [samples] each.

    `exact`: decoded whole in float32. `bfloat16`: decoded whole with the decoder and the generator in bfloat16. `low`:
    in chunks in float32; `one_pass`: as these, but all frames at once. `served`: in chunks in bfloat16. Without
    bfloat16 the two are None.
    """

    frames: int
    chunks: tuple[int, ...]
    exact: Audio
    low: Audio
    one_pass: Audio
    bfloat16: Audio | None
    served: Audio | None


class ChunkedSound:
    """`stages` and `statistics` of the same weights; `bfloat16`: whether this processor multiplies in it."""

    def __init__(self, stages: StageFiles, statistics: NormStatistics, *, threads: int, bfloat16: bool) -> None:
        self._statistics = statistics
        self._say = onnx_session.open_stage(stages.text, threads=threads)
        self._float32 = _Sound(stages, threads, bfloat16=False)
        self._bfloat16 = _Sound(stages, threads, bfloat16=True) if bfloat16 else None

    def of(self, utterance: Utterance) -> Ways:
        """`utterance` is of low latency, and in a voice or a blend that the statistics know."""
        question = asked(utterance)
        said = {**question, **self._say(question)}
        frames = int(said["durations"].sum())
        exact = self._float32.begun(said)
        other = self._bfloat16.begun(said) if self._bfloat16 else None
        return Ways(
            frames,
            chunk_frames(frames),
            exact.whole(),
            exact.in_chunks(self._statistics, utterance, chunk_frames),
            exact.in_chunks(self._statistics, utterance, _all_at_once),
            other.whole() if other else None,
            other.in_chunks(self._statistics, utterance, chunk_frames) if other else None,
        )


class _Sound:
    """The stages after the text stage, in one precision."""

    def __init__(self, stages: StageFiles, threads: int, *, bfloat16: bool) -> None:
        self.decode, self.generate, self.sketch, self.window = (
            openvino_session.open_stage(stage, threads=threads, bfloat16=bfloat16)
            for stage in (stages.decoder, stages.generator, stages.sketch, stages.window)
        )

    def begun(self, said: Tensors) -> "_Begun":
        return _Begun(said, self.decode(said), self.generate, self.sketch, self.window)


@dataclass(frozen=True, slots=True, eq=False)
class _Begun:
    """What the text stage said and what the decoder made of it, which all ways share."""

    said: Tensors
    decoded: Tensors
    generate: Run
    sketch: Run
    window: Run

    def whole(self) -> Audio:
        audio: Audio = self.generate({**self.said, **self.decoded})["audio"].reshape(-1)
        return audio

    def in_chunks(self, statistics: NormStatistics, utterance: Utterance, plan: Plan) -> Audio:
        decoding = ChunkedDecoding(statistics, lambda _: self.decoded, self.sketch, self.window, plan)
        waveform = decoding.begin(utterance, self.said)
        parts = [waveform.samples]
        while waveform.rest is not None:
            waveform = decoding.proceed(waveform.rest)
            parts.append(waveform.samples)
        return np.concatenate(parts)


def _all_at_once(frames: int) -> tuple[int, ...]:
    return (frames,)


NO_TABLE: Final = "these weights have no stages or no table of statistics: run `kokoro-weights prepare`"


def opened(weights: WeightsDirectory) -> tuple[StageFiles, NormStatistics]:
    """What low latency needs of the weights. Raises `SystemExit` where they have it not."""
    statistics = weights.norm_statistics()
    if weights.stages is None or statistics is None:
        raise SystemExit(NO_TABLE)
    return weights.stages, statistics
