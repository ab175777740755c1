"""Kokoro on the CPU through onnxruntime, one utterance at a time (the exported graph is fixed at a batch of one).

The export gives audio only, but the durations are inside it: `/encoder/Cast_output_0` holds the frames of each token. A
second output costs nothing and is added without a parser: by protobuf's merge rule a message that is followed by the
bytes of another one is the two merged, so appending `ModelProto{graph{output{name}}}` appends one entry to
`graph.output`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from speech_protocol import Latency

from .chunked_decoding import ChunkedDecoding
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable
from .onnx_session import open_session, open_stage
from .stage import Run, asked, not_loaded

if TYPE_CHECKING:
    from kokoro_weights import StageFiles
    from kokoro_weights.norm_statistics import NormStatistics

DURATIONS_OUTPUT: Final = "/encoder/Cast_output_0"
_MODEL_GRAPH: Final = 7  # field numbers of onnx.proto3: ModelProto.graph, GraphProto.output, ValueInfoProto.name
_GRAPH_OUTPUT: Final = 12
_VALUE_NAME: Final = 1


class OnnxEngine:
    """`model`: the int8 export; `threads`: how many cores one utterance may use.

    `stages` and `statistics` of the same weights: where both are there, an utterance of low latency is made in chunks,
    in float32, by the stages. They take another 500 MB.
    """

    name = "onnx"
    max_batch = 1

    def __init__(
        self,
        model: Path,
        *,
        threads: int,
        stages: "StageFiles | None" = None,
        statistics: "NormStatistics | None" = None,
    ) -> None:
        self._model = model
        self._threads = threads
        self._stages = stages
        self._statistics = statistics
        self._session: Any = None
        self._say: Run = not_loaded
        self._chunks: ChunkedDecoding | None = None

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """See `Engine`."""
        return ("exact",) if self._stages is None or self._statistics is None else ("exact", "low")

    def load(self) -> None:
        """Build the session; about a second, and another two for the stages. Raises `EngineUnavailable`."""
        try:
            model = with_output(self._model.read_bytes(), DURATIONS_OUTPUT)
        except OSError as error:
            raise EngineUnavailable(f"{self._model}: cannot be read ({error.strerror})") from error
        self._session = open_session(model, threads=self._threads, name=str(self._model))
        if self._stages is not None and self._statistics is not None:
            opened = partial(open_stage, threads=self._threads)
            self._say = opened(self._stages.text)
            stages = self._stages
            self._chunks = ChunkedDecoding(
                self._statistics, opened(stages.decoder), opened(stages.sketch), opened(stages.window)
            )

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, or its next chunk, made one after the other."""
        return [self._speak(utterance) for utterance in batch]

    def close(self) -> None:
        """Free the session and the stages."""
        self._session = self._chunks = None
        self._say = not_loaded

    def _speak(self, utterance: Utterance) -> Waveform:
        question = asked(utterance)
        if self._chunks is not None and utterance.progress is not None:
            return self._chunks.proceed(utterance)
        if self._chunks is not None and utterance.latency == "low":
            tensors = {**question, **self._say(question)}
            if self._chunks.takes(utterance, int(tensors["durations"].sum())):
                return self._chunks.begin(utterance, tensors)
        audio, frames = self._session.run(["audio", DURATIONS_OUTPUT], question)
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
