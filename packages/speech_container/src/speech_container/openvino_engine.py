"""Kokoro on the CPU in two stages: what is said and how on onnxruntime in float32, the sound of it on OpenVINO.

The text stage (a sixth of the work) must be float32, and its last bits matter: where the harmonic source is silent its
phases are rounding noise, and the decoder makes sound of them. onnxruntime gives the very harmonics that it gives in
the whole graph, so with a float32 frame stage the audio is that of the whole graph (98 dB apart, where OpenVINO's text
stage is 11), and in bfloat16 it correlates with that at 0.9994. It is also a fifth faster at this stage than OpenVINO.

The frame stage runs in bfloat16 where the processor multiplies it, at half the time of float32 or less. Two properties
of OpenVINO's CPU plugin matter, both internal to it, so a release that does not know them still works, only slower:

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
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable
from .onnx_session import open_session

logger = logging.getLogger(__name__)

KEPT_KERNELS: Final = 64
_TENSORS: Final = ("harmonics", "text", "pitch", "energy", "durations")
"""The outputs of the text stage; all but the last are inputs of the frame stage."""
_INTERNAL: Final = {"SNIPPETS_MODE": "IGNORE_CALLBACK", "CPU_RUNTIME_CACHE_CAPACITY": KEPT_KERNELS}


class OpenVinoEngine:
    """`text_stage`, `frame_stage`: kokoro_weights' stages; `threads`: how many cores one utterance may use.

    `bfloat16`: whether the frame stage multiplies in it, or in float32.
    """

    name = "openvino"
    max_batch = 1

    def __init__(self, text_stage: Path, frame_stage: Path, *, threads: int, bfloat16: bool) -> None:
        self._bfloat16 = bfloat16
        self._text_stage = text_stage
        self._frame_stage = frame_stage
        self._threads = threads
        self._text: Any = None
        self._frames: Any = None

    def load(self) -> None:
        """Build both stages; two or three seconds. Raises `EngineUnavailable`."""
        self._text = open_session(self._text_stage, threads=self._threads, name=str(self._text_stage))
        self._frames = self._compiled().create_infer_request()

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, made one after the other."""
        return [self._speak(utterance) for utterance in batch]

    def close(self) -> None:
        """Free both stages."""
        self._text = self._frames = None

    def _compiled(self) -> Any:
        import openvino  # here, because no other engine need wait for it

        public = {
            "INFERENCE_PRECISION_HINT": "bf16" if self._bfloat16 else "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": self._threads,
            "ENABLE_CPU_PINNING": False,  # the event loop and other processes run on the same cores
        }
        core = openvino.Core()
        try:
            model = core.read_model(self._frame_stage)
            try:
                return core.compile_model(model, "CPU", public | _INTERNAL)
            except RuntimeError as error:
                logger.warning("OpenVINO takes no internal properties, so it is slower and larger: %s", error)
                return core.compile_model(model, "CPU", public)
        except RuntimeError as error:
            raise EngineUnavailable(f"OpenVINO cannot load {self._frame_stage}: {error}") from error

    def _speak(self, utterance: Utterance) -> Waveform:
        if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
            raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
        style = np.ascontiguousarray(utterance.style.reshape(1, -1))
        tensors = self._say(utterance, style)
        frames = tensors.pop("durations").reshape(-1)
        self._frames.infer(tensors | {"style": style}, share_inputs=True)
        samples: NDArray[np.float32] = self._frames.get_output_tensor(0).data.reshape(-1).copy()
        if frames.sum() * FRAME_SAMPLES != len(samples):
            raise EngineFailed(f"the durations add up to {frames.sum()} frames, the audio has {len(samples)} samples")
        return Waveform(samples, frames, KOKORO_LEAD_S)

    def _say(self, utterance: Utterance, style: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
        """The text stage's outputs by name."""
        feed = {
            "tokens": np.array([[0, *utterance.token_ids, 0]], dtype=np.int64),
            "style": style,
            "speed": np.array([utterance.speed], dtype=np.float32),
        }
        return dict(zip(_TENSORS, self._text.run(_TENSORS, feed), strict=True))
