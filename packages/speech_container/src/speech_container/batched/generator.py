"""kokoro's iSTFTNet generator on padded batches, or on a piece of an utterance with statistics that are given."""

from collections.abc import Sequence
from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from kokoro.istftnet import Generator as KokoroGenerator
from torch import Tensor

from ..engine import FRAME_SAMPLES
from .adaptive_norm import AdaptiveNorms, OwnStatistics, Statistics
from .extent import Extent
from .residual import snake_block
from .stft import ShortTransform

_STEPS_A_FRAME: Final = 2  # of what comes in


class Generator:
    """`dtype`: that of the convolutions. The spectra at both ends are in float32 or better."""

    def __init__(
        self, generator: KokoroGenerator, norms: AdaptiveNorms, transform: ShortTransform, dtype: torch.dtype
    ) -> None:
        self._generator = generator
        self._norms = norms
        self._transform = transform
        self._dtype = dtype

    @property
    def channels(self) -> Sequence[int]:
        """Of each norm: what statistics that are given must have."""
        return self._norms.channels

    def __call__(
        self,
        x: Tensor,
        harmonics: Tensor,
        styles: Tensor,
        extent: Extent,
        statistics: Statistics | None = None,
    ) -> Tensor:
        """Audio [b, 600 t], 0 in the padding.

        `x`: [b, 512, 2 t] and `harmonics`: [b, 22, 120 t + 1], both 0 in the padding; `styles`: [b, 256]; `extent`: of
        the t frames. `statistics`: each item's own, unless given. A piece of an utterance is a batch of its own: frames
        i to j are x[..., 2 i : 2 j] and harmonics[..., 120 i : 120 j + 1].
        """
        generator = self._generator
        norms = self._norms.styled(styles[:, :128], statistics or OwnStatistics())
        x, harmonics, extent = x.to(self._dtype), harmonics.to(self._dtype), extent.in_type(self._dtype)
        kernels = generator.num_kernels
        last = generator.num_upsamples - 1
        reached = extent.finer(_STEPS_A_FRAME)
        for stage, up in enumerate(generator.ups):
            reached = reached.finer(up.stride[0], 1 if stage == last else 0)
            x = up(F.leaky_relu(x, 0.1))
            if stage == last:
                x = generator.reflection_pad(x)  # on the left alone
            from_source = generator.noise_convs[stage](harmonics)
            x = x + snake_block(generator.noise_res[stage], from_source, norms, reached)
            blocks = generator.resblocks[stage * kernels : (stage + 1) * kernels]
            x = reached.cut(sum(snake_block(block, x, norms, reached) for block in blocks) / kernels)
        bins = self._transform.bins
        spectrum = generator.conv_post(F.leaky_relu(x)).to(self._transform.dtype)
        samples = extent.finer(FRAME_SAMPLES).in_type(self._transform.dtype)
        return self._transform.synthesise(torch.exp(spectrum[:, :bins]), torch.sin(spectrum[:, bins:]), samples)
