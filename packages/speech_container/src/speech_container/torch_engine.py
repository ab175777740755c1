"""Kokoro on its own torch modules, on a CUDA device where there is one, else on the CPU.

On a device, several utterances go through together (`batched`), in half precision where that cannot be heard: what it
does to the decoder's and the generator's sound is less than half of what another seed of the noise does (a
log-spectral distance of 0.8 dB against 1.9 to 2.4; bfloat16: 3.3), while durations and pitch are made in float32. With
`graphs`, what is launched often is recorded once. On the CPU a batch takes longer than its utterances do one by one,
so they are made one by one, in float32 and without padding.

Each utterance has its own noise, from its own seed: it sounds the same whatever was spoken before and whoever else is
in its batch, to the last bits on the CPU. (There for one number of threads: sums are split among them.)

Of an utterance of low latency everything but the generator's work is done as a whole, and that in chunks: the next ones
of several utterances together, where they are of one length.

Importing this module imports torch, transformers and kokoro: ten seconds and more on a slow core, so only the studio
does, where the engine is asked for. It does so before the front end is loaded, which imports some of the same packages
in another thread: two threads in one package's circular imports may see each other's half-made modules.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from speech_protocol import Latency
from torch import Tensor

from .batched.buckets import Pass, frame_bucket, passes, token_bucket
from .batched.graphs import RecordedFrameSide, cuda_recorder, recorded_shapes
from .batched.model import BatchedModel, FrameInputs
from .batched.text_side import TextFeatures
from .batched.windows import WindowStages
from .chunked_decoding import ChunkedDecoding
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable
from .kokoro_model import load_model

if TYPE_CHECKING:
    from kokoro_weights.norm_statistics import NormStatistics

DEVICE_BATCH: Final = 8
"""Sentences a step on a device. More would be more audio a second, and a longer wait for whoever comes meanwhile."""


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """`chunks` None: whole sentences only."""

    model: BatchedModel
    frame_side: Callable[[FrameInputs], Tensor]
    windows: WindowStages
    chunks: ChunkedDecoding | None


@dataclass(frozen=True, slots=True, eq=False)
class _Said:
    """Utterances after their text side. `durations`: int64 [b, tokens], on the host, 0 in the padding."""

    utterances: Sequence[Utterance]
    features: TextFeatures
    styles: Tensor
    durations: NDArray[np.int64]

    @property
    def frames(self) -> list[int]:
        """Of each utterance."""
        total: list[int] = self.durations.sum(1).tolist()
        return total

    def durations_of(self, item: int) -> NDArray[np.int64]:
        """Of one utterance's tokens, with the boundary tokens: its own memory."""
        return self.durations[item, : len(self.utterances[item].token_ids) + 2].copy()


class TorchEngine:
    """`model`: Kokoro as safetensors; `config`: its config.json; `threads`: how many cores one utterance may use.

    `statistics`: of those weights, for a source with noise; None where it is to make whole sentences only. `graphs`:
    record the frame side, which only a CUDA device can. `max_batch`: None for what suits the device.
    """

    def __init__(
        self,
        model: Path,
        config: Mapping[str, Any],
        statistics: "NormStatistics | None" = None,
        *,
        threads: int,
        graphs: bool = False,
        max_batch: int | None = None,
    ) -> None:
        self.name = "torch-graphs" if graphs else "torch"
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.max_batch = max_batch or (DEVICE_BATCH if self._device == "cuda" else 1)
        self._file = model
        self._config = config
        self._statistics = statistics
        self._threads = threads
        self._loaded: _Loaded | None = None

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """See `Engine`."""
        return ("exact",) if self._statistics is None else ("exact", "low")

    def load(self) -> None:
        """Fill the model, a second or two; with graphs, record them, some more. Raises `EngineUnavailable`."""
        if self.name == "torch-graphs" and self._device != "cuda":
            raise EngineUnavailable("the torch-graphs engine needs a CUDA device, and torch sees none; use torch")
        torch.set_num_threads(self._threads)
        torch.backends.cudnn.fp32_precision = "ieee"  # float32 means it: durations, pitch, phase and transforms
        on_device = self._device == "cuda"
        model = BatchedModel(
            load_model(self._file, self._config, self._device), torch.float16 if on_device else torch.float32
        )
        frame_side: Callable[[FrameInputs], Tensor] = model.frame_side
        if self.name == "torch-graphs":
            with torch.inference_mode():
                frame_side = RecordedFrameSide(model, cuda_recorder(), recorded_shapes(self.max_batch))
        windows = WindowStages(model)
        chunks = None
        if self._statistics is not None:
            chunks = ChunkedDecoding(self._statistics, dict, windows.sketch, windows.sound, max_windows=self.max_batch)
        self._loaded = _Loaded(model, frame_side, windows, chunks)

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, or its next chunk, `max_batch` at a time."""
        if self._loaded is None:
            raise EngineFailed("the torch engine is not loaded")
        parts = itertools.batched(batch, self.max_batch)
        return [waveform for part in parts for waveform in self._speak(self._loaded, part)]

    def close(self) -> None:
        """Free the model."""
        self._loaded = None

    def _speak(self, loaded: _Loaded, batch: Sequence[Utterance]) -> list[Waveform]:
        for utterance in batch:
            if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
                raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
        made: dict[int, Waveform] = {}
        begun = {index: utterance for index, utterance in enumerate(batch) if utterance.progress is not None}
        new = [index for index in range(len(batch)) if index not in begun]
        chunks = loaded.chunks
        if new:
            with torch.inference_mode():
                said = self._say(loaded.model, [batch[index] for index in new])
                in_chunks = {
                    item: chunks
                    for item, frames in enumerate(said.frames)
                    if chunks is not None and chunks.takes(said.utterances[item], frames)
                }
                whole = [item for item in range(len(new)) if item not in in_chunks]
                made |= {new[item]: waveform for item, waveform in self._whole(loaded, said, whole)}
                begun |= {new[item]: self._opened(loaded, each, said, item) for item, each in in_chunks.items()}
        if begun:
            if chunks is None:
                raise EngineFailed("expected whole utterances; the rest of one came, and there are no statistics here")
            made |= dict(zip(begun, chunks.proceed_all(list(begun.values())), strict=True))
        return [made[index] for index in range(len(batch))]

    def _say(self, model: BatchedModel, batch: Sequence[Utterance]) -> _Said:
        token_ids = [utterance.token_ids for utterance in batch]
        styles = torch.from_numpy(np.stack([utterance.style.reshape(-1) for utterance in batch])).to(self._device)
        longest = max(len(ids) + 2 for ids in token_ids)
        steps = longest if self.max_batch == 1 else token_bucket(longest)
        features = model.text_side(token_ids, styles, [utterance.speed for utterance in batch], steps)
        return _Said(batch, features, styles, features.durations.cpu().numpy())

    def _whole(self, loaded: _Loaded, said: _Said, items: Sequence[int]) -> Iterator[tuple[int, Waveform]]:
        """The waveforms of those utterances."""
        frames = said.frames
        launched = []
        for each in self._passes([frames[item] for item in items]):  # launched without waiting for one another
            chosen = [items[index] for index in each.items]
            launched.append((chosen, loaded.frame_side(self._inputs(loaded.model, said, chosen, each.frames))))
        for chosen, audio in launched:
            for item, row in zip(chosen, audio.cpu().numpy(), strict=True):
                samples = row[: frames[item] * FRAME_SAMPLES].copy()
                yield item, Waveform(samples, said.durations_of(item), KOKORO_LEAD_S)

    def _opened(self, loaded: _Loaded, chunks: ChunkedDecoding, said: _Said, item: int) -> Utterance:
        frames = said.frames[item]
        steps = frames if self.max_batch == 1 else frame_bucket(frames)
        tensors = loaded.windows.decoded(self._inputs(loaded.model, said, [item], steps), frames)
        return chunks.opened(said.utterances[item], {**tensors, "durations": said.durations_of(item)})

    def _inputs(self, model: BatchedModel, said: _Said, items: Sequence[int], steps: int) -> FrameInputs:
        seeds = [utterance.seed for utterance in said.utterances]
        return model.frame_inputs(said.features, said.durations, items, said.styles, seeds, steps)

    def _passes(self, frames: Sequence[int]) -> list[Pass]:
        return passes(frames) if self.max_batch > 1 else [Pass((0,), each) for each in frames]
