"""Kokoro on its own torch modules, on a CUDA device where there is one, else on the CPU; one utterance at a time.

KModel's harmonic source adds noise from torch's global generator. Each utterance gets its own stream of it, from its
own seed, and the generator's state is put back: the same utterance is the same samples, whatever was spoken before and
whoever else in the process draws random numbers. (On the CPU for one number of threads: sums are split among them.)

Importing this module imports torch, transformers and kokoro: ten seconds and more on a slow core, so only the studio
does, where the engine is asked for. It does so before the front end is loaded, which imports some of the same packages
in another thread: two threads in one package's circular imports may see each other's half-made modules.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .engine import FRAME_SAMPLES, KOKORO_LEAD_S, MAX_TOKENS, Utterance, Waveform
from .errors import EngineFailed
from .kokoro_model import OfflineKModel, load_model


class TorchEngine:
    """`model`: Kokoro as safetensors; `config`: its config.json; `threads`: how many cores one utterance may use."""

    name = "torch"
    max_batch = 1

    def __init__(self, model: Path, config: Mapping[str, Any], *, threads: int) -> None:
        self._file = model
        self._config = config
        self._threads = threads
        self._model: OfflineKModel | None = None

    def load(self) -> None:
        """Fill the model; a second or two. Raises `EngineUnavailable`."""
        torch.set_num_threads(self._threads)
        self._model = load_model(self._file, self._config, "cuda" if torch.cuda.is_available() else "cpu")

    def synthesize(self, batch: Sequence[Utterance]) -> list[Waveform]:
        """One waveform an utterance, made one after the other."""
        return [self._speak(utterance) for utterance in batch]

    def close(self) -> None:
        """Free the model."""
        self._model = None

    def _speak(self, utterance: Utterance) -> Waveform:
        if not 0 < len(utterance.token_ids) <= MAX_TOKENS:
            raise EngineFailed(f"an utterance has 1 to {MAX_TOKENS} tokens; {len(utterance.token_ids)} came")
        if self._model is None:
            raise EngineFailed("the torch engine is not loaded")
        device = self._model.device
        tokens = torch.tensor([[0, *utterance.token_ids, 0]], device=device)
        style = torch.from_numpy(utterance.style.reshape(1, -1).copy()).to(device)
        with torch.inference_mode(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(utterance.seed)
            audio, durations = self._model.forward_with_tokens(tokens, style, utterance.speed)
        samples, frames = audio.reshape(-1).cpu().numpy(), durations.reshape(-1).cpu().numpy()
        if frames.sum() * FRAME_SAMPLES != len(samples):
            raise EngineFailed(f"the durations add up to {frames.sum()} frames, the audio has {len(samples)} samples")
        return Waveform(samples, frames, KOKORO_LEAD_S)
