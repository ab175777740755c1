"""Kokoro on the CPU through onnxruntime, one utterance at a time (the exported graph is fixed at a batch of one).

The export gives audio only, but the durations are inside it: `/encoder/Cast_output_0` holds the frames of each token. A
second output costs nothing and is added without a parser: by protobuf's merge rule a message that is followed by the
bytes of another one is the two merged, so appending `ModelProto{graph{output{name}}}` appends one entry to
`graph.output`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from speech_protocol import Latency

from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable
from .onnx_session import open_session

DURATIONS_OUTPUT: Final = "/encoder/Cast_output_0"
_MODEL_GRAPH: Final = 7  # field numbers of onnx.proto3: ModelProto.graph, GraphProto.output, ValueInfoProto.name
_GRAPH_OUTPUT: Final = 12
_VALUE_NAME: Final = 1


class OnnxEngine:
    """`model`: the int8 export; `threads`: how many cores one utterance may use."""

    name = "onnx"
    max_batch = 1
    latencies: tuple[Latency, ...] = ("exact",)

    def __init__(self, model: Path, *, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._session: Any = None

    def load(self) -> None:
        """Build the session; about a second. Raises `EngineUnavailable`."""
        try:
            model = with_output(self._model.read_bytes(), DURATIONS_OUTPUT)
        except OSError as error:
            raise EngineUnavailable(f"{self._model}: cannot be read ({error.strerror})") from error
        self._session = open_session(model, threads=self._threads, name=str(self._model))

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
