"""Kokoro on the CPU in stages: what is said and how on onnxruntime in float32, the sound of it on OpenVINO.

The text stage (a sixth of the work) must be float32; onnxruntime is a fifth faster at it than OpenVINO. With float32
also in the other stages the audio is that of the whole graph to the last bit of 16, and in bfloat16 it correlates with
that at 0.9994.

The decoder and the generator run in bfloat16 where the processor multiplies it, at half the time of float32 or less. An
utterance of low latency has its decoder's work done as a whole and its generator's in chunks, on the stage without
norms (see `chunked_decoding`). Two properties of OpenVINO's CPU plugin matter, both internal to it, so a release that
does not know them still works, only slower:

- It fuses chains of elementwise operators into one kernel only where shapes are fixed, unless told to ignore that rule
  (SNIPPETS_MODE). The generator's activation and its normalisation are such chains, and the fused kernel keeps float32
  between its first load and its last store: 10 % less time than one kernel an operator, and 3 dB less noise.
- Each length of audio gets convolution kernels of its own, compiled when it first comes: 25 to 60 ms, 7 MB. They go
  into a cache of 5,000 entries, which is 100 lengths, and as far as a server can tell grows for ever. 64 entries are
  enough for the layers of one length to share theirs.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from speech_protocol import Latency

from .chunked_decoding import ChunkedDecoding
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable
from .onnx_session import open_stage
from .stage import Run, Tensors, not_loaded

if TYPE_CHECKING:
    from kokoro_weights import StageFiles
    from kokoro_weights.norm_statistics import NormStatistics

logger = logging.getLogger(__name__)

KEPT_KERNELS: Final = 64
_INTERNAL: Final = {"SNIPPETS_MODE": "IGNORE_CALLBACK", "CPU_RUNTIME_CACHE_CAPACITY": KEPT_KERNELS}


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
        self._say = open_stage(self._stages.text, threads=self._threads)
        self._decode = self._compiled(self._stages.decoder)
        self._generate = self._compiled(self._stages.generator)
        if self._statistics is not None:
            self._chunks = ChunkedDecoding(self._statistics, self._decode, self._compiled(self._stages.window))

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, or its next chunk, made one after the other."""
        return [self._speak(utterance) for utterance in batch]

    def close(self) -> None:
        """Free all stages."""
        self._say = self._decode = self._generate = not_loaded
        self._chunks = None

    def _compiled(self, stage: Path) -> Run:
        import openvino  # here, because no other engine need wait for it

        public = {
            "INFERENCE_PRECISION_HINT": "bf16" if self._bfloat16 else "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": self._threads,
            "ENABLE_CPU_PINNING": False,  # the event loop and other processes run on the same cores
        }
        core = openvino.Core()
        try:
            model = core.read_model(stage)
            try:
                return _runner(core.compile_model(model, "CPU", public | _INTERNAL))
            except RuntimeError as error:
                logger.warning("OpenVINO takes no internal properties, so it is slower and larger: %s", error)
                return _runner(core.compile_model(model, "CPU", public))
        except RuntimeError as error:
            raise EngineUnavailable(f"OpenVINO cannot load {stage}: {error}") from error

    def _speak(self, utterance: Utterance) -> Waveform:
        if self._chunks is not None and utterance.progress is not None:
            return self._chunks.proceed(utterance)
        if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
            raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
        asked = _asked(utterance)
        tensors = {**asked, **self._say(asked)}
        frames = tensors["durations"].reshape(-1)
        if self._chunks is not None and self._chunks.takes(utterance, int(frames.sum())):
            return self._chunks.begin(utterance, tensors)
        samples: NDArray[np.float32] = self._generate({**tensors, **self._decode(tensors)})["audio"].reshape(-1)
        if frames.sum() * FRAME_SAMPLES != len(samples):
            raise EngineFailed(f"the durations add up to {frames.sum()} frames, the audio has {len(samples)} samples")
        return Waveform(samples, frames, KOKORO_LEAD_S)


def _asked(utterance: Utterance) -> dict[str, NDArray[Any]]:
    """The inputs of the text stage; the decoder and the generator need the style too."""
    return {
        "tokens": np.array([[0, *utterance.token_ids, 0]], dtype=np.int64),
        "style": np.ascontiguousarray(utterance.style.reshape(1, -1)),
        "speed": np.array([utterance.speed], dtype=np.float32),
    }


def _runner(compiled: Any) -> Run:
    """A compiled model as a function; what it returns is the caller's own memory."""
    request = compiled.create_infer_request()
    inputs = [port.any_name for port in compiled.inputs]
    outputs = [port.any_name for port in compiled.outputs]

    def run(tensors: Tensors) -> Tensors:
        request.infer({name: tensors[name] for name in inputs}, share_inputs=True)
        return {name: request.get_tensor(name).data.copy() for name in outputs}

    return run
