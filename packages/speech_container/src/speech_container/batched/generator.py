"""kokoro's iSTFTNet generator: on padded batches, on windows of utterances whose norms are given, and in a sketch."""

from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from kokoro.istftnet import Generator as KokoroGenerator
from kokoro_weights.sketch import THINNINGS
from torch import Tensor

from ..engine import FRAME_SAMPLES
from .adaptive_norm import AdaptiveNorms, Norms, OwnStatistics, SeenStatistics
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

    def affine(self, styles: Tensor) -> tuple[Tensor, Tensor]:
        """The norms' gains and shifts for styles [b, 256]: both [b, all channels, 1]."""
        return self._norms.affine(styles[:, :128])

    def __call__(self, x: Tensor, harmonics: Tensor, styles: Tensor, extent: Extent) -> Tensor:
        """Audio [b, 600 t], 0 in the padding.

        `x`: [b, 512, 2 t] and `harmonics`: [b, 22, 120 t + 1], both 0 in the padding; `styles`: [b, 256]; `extent`: of
        the t frames.
        """
        return self._sound(x, harmonics, self._norms.styled(styles[:, :128], OwnStatistics()), extent)

    def window(self, x: Tensor, harmonics: Tensor, factors: Tensor, offsets: Tensor) -> Tensor:
        """Audio [b, 600 t] of pieces of utterances, whose norms are x · factor + offset: both [b, all channels, 1].

        Frames i to j of an utterance are x[..., 2 i : 2 j] and harmonics[..., 120 i : 120 j + 1].
        """
        extent = Extent.full(len(x), x.shape[-1] // _STEPS_A_FRAME, factors)
        return self._sound(x, harmonics, self._norms.given(factors, offsets), extent)

    def sketch(self, x: Tensor, styles: Tensor) -> tuple[Tensor, Tensor]:
        """Means and variances, [1, 5376, 1] each, that norms have in a run over a third of the time.

        `kokoro_weights.sketch` says what for and of which norms. `x`: [1, 512, 2 t], of a whole utterance.
        """
        generator, kernels = self._generator, self._generator.num_kernels
        seen = SeenStatistics()
        norms = self._norms.styled(styles[:, :128], seen)
        entering, between = THINNINGS
        x = generator.ups[0](F.leaky_relu(F.avg_pool1d(x.to(self._dtype), entering.columns), 0.1))
        extent = Extent.full(1, x.shape[-1], x)
        x = sum(snake_block(block, x, norms, extent) for block in generator.resblocks[:kernels]) / kernels
        x = generator.reflection_pad(generator.ups[1](F.leaky_relu(F.avg_pool1d(x, between.columns), 0.1)))
        snake_block(generator.resblocks[kernels], x, norms, Extent.full(1, x.shape[-1], x))
        layers = sorted(seen.means)
        means, variances = (torch.cat([of[layer] for layer in layers], 1) for of in (seen.means, seen.variances))
        return means, variances

    def _sound(self, x: Tensor, harmonics: Tensor, norms: Norms, extent: Extent) -> Tensor:
        generator = self._generator
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
