"""Kokoro on the CPU in stages: what is said and how on onnxruntime in float32, the sound of it on OpenVINO.

The text stage (a sixth of the work) must be float32; onnxruntime is a fifth faster at it than OpenVINO. With float32
also in the other stages the audio is that of the whole graph (correlation 0.9999, and to the last bit of 16 but for the
rounding of the harmonic source's spectra), and in bfloat16 it correlates with that at 0.9994.

The decoder and the generator run in bfloat16 where the processor multiplies it, at half the time of float32 or less. An
utterance of low latency has its decoder's work done as a whole and its generator's in chunks, on the stage without
norms (see `chunked_decoding`).
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from speech_protocol import Latency

from . import onnx_session, openvino_session
from .chunked_decoding import ChunkedDecoding
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, Utterance, Waveform
from .errors import EngineFailed
from .stage import Run, asked, not_loaded

if TYPE_CHECKING:
    from kokoro_weights import StageFiles
    from kokoro_weights.norm_statistics import NormStatistics


class OpenVinoEngine:
    """`stages`: kokoro_weights' stages; `statistics`: of those weights, None where it is to make whole sentences only.

    `threads`: how many cores one utterance may use. `bfloat16`: whether the sound is made in it, or in float32.
    """

    name = "openvino"
    max_batch = 1

    def __init__(
        self, stages: "StageFiles", statistics: "NormStatistics | None" = None, *, threads: int, bfloat16: bool
    ) -> None:
        self._stages = stages
        self._statistics = statistics
        self._threads = threads
        self._bfloat16 = bfloat16
        self._say: Run = not_loaded
        self._decode: Run = not_loaded
        self._generate: Run = not_loaded
        self._chunks: ChunkedDecoding | None = None

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """See `Engine`."""
        return ("exact",) if self._statistics is None else ("exact", "low")

    def load(self) -> None:
        """Build all stages; three or four seconds. Raises `EngineUnavailable`."""
        self._say = onnx_session.open_stage(self._stages.text, threads=self._threads)
        opened = partial(openvino_session.open_stage, threads=self._threads, bfloat16=self._bfloat16)
        self._decode, self._generate = opened(self._stages.decoder), opened(self._stages.generator)
        if self._statistics is not None:
            sketch, window = opened(self._stages.sketch), opened(self._stages.window)
            self._chunks = ChunkedDecoding(self._statistics, self._decode, sketch, window)

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, or its next chunk, made one after the other."""
        return [self._speak(utterance) for utterance in batch]

    def close(self) -> None:
        """Free all stages."""
        self._say = self._decode = self._generate = not_loaded
        self._chunks = None

    def _speak(self, utterance: Utterance) -> Waveform:
        if self._chunks is not None and utterance.progress is not None:
            return self._chunks.proceed(utterance)
        question = asked(utterance)
        tensors = {**question, **self._say(question)}
        frames = tensors["durations"].reshape(-1)
        if self._chunks is not None and self._chunks.takes(utterance, int(frames.sum())):
            return self._chunks.begin(utterance, tensors)
        samples: NDArray[np.float32] = self._generate({**tensors, **self._decode(tensors)})["audio"].reshape(-1)
        if frames.sum() * FRAME_SAMPLES != len(samples):
            raise EngineFailed(f"the durations add up to {frames.sum()} frames, the audio has {len(samples)} samples")
        return Waveform(samples, frames, KOKORO_LEAD_S)
