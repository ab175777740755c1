"""Kokoro on its own torch modules, on a CUDA device where there is one, else on the CPU.

On a device, several utterances go through together (`batched`), in half precision where that cannot be heard: what it
does to the decoder's and the generator's sound is less than half of what another seed of the noise does (a
log-spectral distance of 0.8 dB against 1.9 to 2.4; bfloat16: 3.3), while durations and pitch are made in float32. With
`graphs`, what is launched often is recorded once. On the CPU a batch takes longer than its utterances do one by one,
so they are made one by one, in float32 and without padding.

Each utterance has its own noise, from its own seed: it sounds the same whatever was spoken before and whoever else is
in its batch, to the last bits on the CPU. (There for one number of threads: sums are split among them.)

Importing this module imports torch, transformers and kokoro: ten seconds and more on a slow core, so only the studio
does, where the engine is asked for. It does so before the front end is loaded, which imports some of the same packages
in another thread: two threads in one package's circular imports may see each other's half-made modules.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from speech_protocol import Latency
from torch import Tensor

from .batched.buckets import Pass, passes, token_bucket
from .batched.graphs import RecordedFrameSide, cuda_recorder, recorded_shapes
from .batched.model import BatchedModel, FrameInputs
from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed, EngineUnavailable
from .kokoro_model import load_model

DEVICE_BATCH: Final = 8
"""Sentences a step on a device. More would be more audio a second, and a longer wait for whoever comes meanwhile."""


class TorchEngine:
    """`model`: Kokoro as safetensors; `config`: its config.json; `threads`: how many cores one utterance may use.

    `graphs`: record the frame side, which only a CUDA device can. `max_batch`: None for what suits the device.
    """

    latencies: tuple[Latency, ...] = ("exact",)

    def __init__(
        self,
        model: Path,
        config: Mapping[str, Any],
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
        self._threads = threads
        self._model: BatchedModel | None = None
        self._frame_side: Callable[[FrameInputs], Tensor] | None = None

    def load(self) -> None:
        """Fill the model, a second or two; with graphs, record them, some more. Raises `EngineUnavailable`."""
        if self.name == "torch-graphs" and self._device != "cuda":
            raise EngineUnavailable("the torch-graphs engine needs a CUDA device, and torch sees none; use torch")
        torch.set_num_threads(self._threads)
        torch.backends.cudnn.fp32_precision = "ieee"  # float32 means it: durations, pitch, phase and transforms
        on_device = self._device == "cuda"
        self._model = BatchedModel(
            load_model(self._file, self._config, self._device), torch.float16 if on_device else torch.float32
        )
        self._frame_side = self._model.frame_side
        if self.name == "torch-graphs":
            with torch.inference_mode():
                self._frame_side = RecordedFrameSide(self._model, cuda_recorder(), recorded_shapes(self.max_batch))

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, `max_batch` at a time."""
        return [waveform for part in itertools.batched(batch, self.max_batch) for waveform in self._speak(part)]

    def close(self) -> None:
        """Free the model."""
        self._model = self._frame_side = None

    def _speak(self, batch: Sequence[Utterance]) -> list[Waveform]:
        for utterance in batch:
            if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
                raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
        if self._model is None or self._frame_side is None:
            raise EngineFailed("the torch engine is not loaded")
        token_ids = [utterance.token_ids for utterance in batch]
        lengths = [len(ids) + 2 for ids in token_ids]
        with torch.inference_mode():
            styles = torch.from_numpy(np.stack([utterance.style.reshape(-1) for utterance in batch])).to(self._device)
            speeds = [utterance.speed for utterance in batch]
            features = self._model.text_side(token_ids, styles, speeds, self._text_steps(lengths))
            durations = features.durations.cpu().numpy()
            frames = durations.sum(1).tolist()
            seeds = [utterance.seed for utterance in batch]
            made = []
            for each in self._passes(frames):  # launched without waiting for one another
                inputs = self._model.frame_inputs(features, durations, each.items, styles, seeds, each.frames)
                made.append((each, self._frame_side(inputs)))
            samples: dict[int, Any] = {}
            for each, audio in made:
                for item, row in zip(each.items, audio.cpu().numpy(), strict=True):
                    samples[item] = row[: frames[item] * FRAME_SAMPLES].copy()
        return [
            Waveform(samples[item], durations[item, :length].copy(), KOKORO_LEAD_S)
            for item, length in enumerate(lengths)
        ]

    def _text_steps(self, lengths: Sequence[int]) -> int:
        return max(lengths) if self.max_batch == 1 else token_bucket(max(lengths))

    def _passes(self, frames: Sequence[int]) -> list[Pass]:
        return passes(frames) if self.max_batch > 1 else [Pass((0,), frames[0])]
