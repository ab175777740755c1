"""A KModel in batches: a text side, one look at the durations, a frame side.

Utterances of different lengths, voices and speeds go through together, and each comes out as it would alone. The host
waits for the device once, for the durations, which say how long the frame side's tensors are. `frame_inputs` and
`frame_side` then depend on data in nothing but values, so `frame_side` can be recorded as a graph; for audio before
a sentence is decoded its parts (`curves`, `harmonics`, `decoder`, `generator`) can be called one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from kokoro.model import KModel
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from ..engine import FRAME_SAMPLES
from .adaptive_norm import AdaptiveNorms
from .decoder import FrameDecoder
from .extent import Extent
from .generator import Generator
from .length_regulator import LengthRegulator
from .prosody import Curves, Prosody
from .source import HarmonicSource
from .stft import ShortTransform
from .text_side import TextFeatures, text_features


@dataclass(frozen=True, slots=True, eq=False)
class FrameInputs:
    """What the frame side works on: `t` frames for each of `b` items, of which `lengths` count.

    `context`: [b, 512, t] and `phonetics`: [b, 512, t], anything in the padding; `lengths`: int64 [b], at least 1;
    `styles`: [b, 256]; `noise`: [b, 9, 600 t], finite in the padding. `is_full`: there is no padding.
    """

    context: Tensor
    phonetics: Tensor
    lengths: Tensor
    styles: Tensor
    noise: Tensor
    is_full: bool = False

    @property
    def frames(self) -> Extent:
        """How far the items reach."""
        return Extent(self.lengths, self.context.shape[-1], self.context.dtype, is_full=self.is_full)

    @property
    def samples(self) -> Extent:
        """The same for their audio."""
        return self.frames.finer(FRAME_SAMPLES)


class BatchedModel:
    """Takes `model` over. `dtype`: of the decoder's and the generator's convolutions; None: the model's own."""

    def __init__(self, model: KModel, dtype: torch.dtype | None = None) -> None:
        self._model = model.requires_grad_(False)
        _fold_weight_norms(model)
        wide = model.bert_encoder.weight
        self.device, self.dtype = wide.device, wide.dtype
        dtype = dtype or wide.dtype
        decoder, generator = model.decoder, model.decoder.generator
        decoder_norms = AdaptiveNorms(decoder.encode, decoder.decode)
        generator_norms = AdaptiveNorms(generator)
        self._transform = ShortTransform(generator.stft, wide)
        self._prosody = Prosody(model.predictor)
        self.source = HarmonicSource(generator.m_source)
        self.decoder = FrameDecoder(decoder, decoder_norms, dtype)
        self.generator = Generator(generator, generator_norms, self._transform, dtype)
        if dtype != self.dtype:
            for part in (*decoder.children(), *generator.children()):
                if part is not generator and part is not generator.m_source:
                    part.to(dtype)

    def text_side(
        self, token_ids: Sequence[Sequence[int]], styles: Tensor, speeds: Sequence[float], steps: int
    ) -> TextFeatures:
        """`token_ids`: without the boundary tokens; `styles`: [b, 256] on the device; `speeds`: factors.

        `steps`: to how many tokens all are padded, the boundary tokens included.
        """
        lengths = [len(ids) + 2 for ids in token_ids]
        tokens = torch.zeros(len(lengths), steps, dtype=torch.int64)
        for row, ids in zip(tokens, token_ids, strict=True):
            row[1 : len(ids) + 1] = torch.tensor(ids)
        factors = torch.tensor(speeds, dtype=styles.dtype)
        return text_features(self._model, tokens.to(self.device), lengths, styles, factors.to(self.device))

    def frame_inputs(
        self,
        features: TextFeatures,
        durations: NDArray[np.int64],
        items: Sequence[int],
        styles: Tensor,
        seeds: Sequence[int],
        steps: int,
    ) -> FrameInputs:
        """Those of the batch's items that go through the frame side together, padded to `steps` frames.

        `durations`: the features' own, on the host; `styles` and `seeds`: of the whole batch.
        """
        chosen = torch.tensor(items)
        lengths = [int(durations[item].sum()) for item in items]
        chosen_there = chosen.to(self.device)
        regulate = LengthRegulator(durations[list(items)], steps, self.device)
        context = self._prosody.context(regulate(features.prosody[chosen_there]), lengths)
        samples = steps * FRAME_SAMPLES
        noise = torch.zeros(len(lengths), self.source.harmonics, samples, dtype=styles.dtype, device=self.device)
        for row, item, length in zip(noise, items, lengths, strict=True):
            self.source.draw_noise(row, seeds[item], length * FRAME_SAMPLES)
        return FrameInputs(
            context,
            regulate(features.phonetics[chosen_there]),
            torch.tensor(lengths).to(self.device),
            styles[chosen_there],
            noise,
            is_full=min(lengths) == steps,
        )

    def frame_side(self, inputs: FrameInputs) -> Tensor:
        """Audio [b, 600 t], 0 in the padding."""
        curves = self.curves(inputs)
        x = self.decoder(inputs.phonetics, curves, inputs.styles, inputs.frames)
        harmonics = self.harmonics(curves, inputs)
        return self.generator(x, harmonics, inputs.styles, inputs.frames)

    def curves(self, inputs: FrameInputs) -> Curves:
        """Pitch and loudness, [b, 2 t]."""
        return self._prosody.curves(inputs.context, inputs.styles, inputs.frames)

    def harmonics(self, curves: Curves, inputs: FrameInputs) -> Tensor:
        """The spectra of the harmonic source, [b, 22, 120 t + 1], 0 in the padding."""
        samples = inputs.samples
        return self._transform.analyse(self.source(curves.pitch_hz, inputs.noise, samples), samples)


def _fold_weight_norms(model: Module) -> None:
    """g * v / |v| once, not in each call."""
    for module in model.modules():
        if hasattr(module, "weight_g"):
            torch.nn.utils.remove_weight_norm(module)
