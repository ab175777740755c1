"""Kokoro on the CPU through onnxruntime, one utterance at a time (the exported graph is fixed at a batch of one).

The export gives audio only, but the durations are inside it: `/encoder/Cast_output_0` holds the frames of each token. A
second output costs nothing and is added without a parser: by protobuf's merge rule a message that is followed by the
bytes of another one is the two merged, so appending `ModelProto{graph{output{name}}}` appends one entry to
`graph.output`.

Memory patterns keep a plan for every input length that was seen, so they are off. The arena is on: over 40 lengths in
random order the process then stayed at 400 MB and took 0.63 CPU-seconds a second of audio; without the arena it swung
between 330 and 600 MB and took 0.68. Threads do not spin while they wait: the event loop runs on the same cores.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable

DURATIONS_OUTPUT: Final = "/encoder/Cast_output_0"
_MODEL_GRAPH: Final = 7  # field numbers of onnx.proto3: ModelProto.graph, GraphProto.output, ValueInfoProto.name
_GRAPH_OUTPUT: Final = 12
_VALUE_NAME: Final = 1


class OnnxEngine:
    """`model`: the int8 export; `threads`: how many cores one utterance may use."""

    name = "onnx"
    max_batch = 1

    def __init__(self, model: Path, *, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._session: Any = None

    def load(self) -> None:
        """Build the session; about a second. Raises `EngineUnavailable`."""
        import onnxruntime  # here, because the tone engine need not wait 0.2 s for it

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            model = with_output(self._model.read_bytes(), DURATIONS_OUTPUT)
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises unrelated classes, one a status code
            raise EngineUnavailable(f"onnxruntime cannot load {self._model}: {error}") from error

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, made one after the other."""
        return [self._speak(utterance) for utterance in batch]

    def close(self) -> None:
        """Free the session."""
        self._session = None

    def _speak(self, utterance: Utterance) -> Waveform:
        if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
            raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
        feed = {
            "tokens": np.array([[0, *utterance.token_ids, 0]], dtype=np.int64),
            "style": utterance.style.reshape(1, -1),
            "speed": np.array([utterance.speed], dtype=np.float32),
        }
        audio, frames = self._session.run(["audio", DURATIONS_OUTPUT], feed)
        samples, frames = audio.reshape(-1), frames.reshape(-1)
        if frames.sum() * FRAME_SAMPLES != len(samples):
            raise EngineFailed(f"the durations add up to {frames.sum()} frames, the audio has {len(samples)} samples")
        return Waveform(samples, frames, KOKORO_LEAD_S)


def with_output(model: bytes, name: str) -> bytes:
    """A serialised ONNX `model` whose graph has the tensor `name` as one more output (see the module)."""
    return model + _field(_MODEL_GRAPH, _field(_GRAPH_OUTPUT, _field(_VALUE_NAME, name.encode())))


def _field(number: int, payload: bytes) -> bytes:
    """A length-delimited protobuf field."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
