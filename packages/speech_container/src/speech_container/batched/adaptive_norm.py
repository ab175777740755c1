"""kokoro's adaptive instance norms (AdaIN) on padded batches, with a choice of where their statistics come from.

`(1 + gamma) * (x - mean) / sqrt(variance + eps) + beta`, gamma and beta from the style, mean and variance of each
channel over time. Over an item's own steps that is what the item gets alone. Where the statistics are given, the norm
is a fixed scale and shift, and a piece of an utterance gets what it would get in the whole. Either way the result is 0
in the padding: the convolution behind it finds there what it would find behind the end of the item alone.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from kokoro.istftnet import AdaIN1d
from torch import Tensor
from torch.nn import Module

from .extent import Extent


class Statistics(Protocol):
    """What the norms of one pass are normalised with."""

    def moments(self, layer: int, x: Tensor, extent: Extent) -> tuple[Tensor, Tensor]:
        """Mean and (biased) variance, [b, channels, 1], for norm number `layer` with the input `x`.

        `x` may hold anything in the padding.
        """


class OwnStatistics:
    """Each item's own, over its own steps, in float32 or better."""

    def moments(self, layer: int, x: Tensor, extent: Extent) -> tuple[Tensor, Tensor]:
        """See `Statistics`."""
        return extent.moments(x)


class SeenStatistics:
    """Each item's own, remembered: `means` and `variances` by the number of the norm."""

    def __init__(self) -> None:
        self.means: dict[int, Tensor] = {}
        self.variances: dict[int, Tensor] = {}

    def moments(self, layer: int, x: Tensor, extent: Extent) -> tuple[Tensor, Tensor]:
        """See `Statistics`."""
        self.means[layer], self.variances[layer] = found = extent.moments(x)
        return found


class Norms(Protocol):
    """All norms of one pass."""

    def __call__(self, norm: Module, x: Tensor, extent: Extent) -> Tensor:
        """[b, channels, steps] → the same, in the type of `x`, which may hold anything in the padding; 0 there."""


class AdaptiveNorms:
    """All norms within `roots`, numbered in the order of their modules. Keeps its own copy of their parameters."""

    def __init__(self, *roots: Module) -> None:
        norms = [module for root in roots for module in root.modules() if isinstance(module, AdaIN1d)]
        self.channels = [norm.norm.num_features for norm in norms]
        self.epsilon: float = norms[0].norm.eps
        self._layer_of = {norm: layer for layer, norm in enumerate(norms)}
        gammas, betas = zip(*(norm.fc.weight.detach().chunk(2) for norm in norms), strict=True)
        gamma_biases, beta_biases = zip(*(norm.fc.bias.detach().chunk(2) for norm in norms), strict=True)
        self._weight = torch.cat([*gammas, *betas])
        self._bias = torch.cat([*gamma_biases, *beta_biases])
        self._scale = torch.cat([norm.norm.weight.detach() for norm in norms])
        self._shift = torch.cat([norm.norm.bias.detach() for norm in norms])

    def layer(self, norm: Module) -> int:
        """The number of a norm."""
        return self._layer_of[norm]

    def affine(self, style: Tensor) -> tuple[Tensor, Tensor]:
        """What normalised channels are multiplied with, and what is then added: both [b, all channels, 1].

        `style`: [b, 128].
        """
        projected = torch.nn.functional.linear(style.to(self._weight.dtype), self._weight, self._bias)
        gamma, beta = projected.chunk(2, 1)
        return ((1 + gamma) * self._scale)[..., None], ((1 + gamma) * self._shift + beta)[..., None]

    def split(self, values: Tensor) -> Sequence[Tensor]:
        """[b, all channels, 1] → [b, channels, 1] for each norm."""
        parts: Sequence[Tensor] = values.split_with_sizes(self.channels, 1)
        return parts

    def styled(self, style: Tensor, statistics: Statistics) -> "StyledNorms":
        """For one pass. `style`: [b, 128]."""
        gains, offsets = map(self.split, self.affine(style))
        return StyledNorms(self, list(zip(gains, offsets, strict=True)), statistics)

    def given(self, factors: Tensor, offsets: Tensor) -> "GivenNorms":
        """For one pass whose statistics are known: both [b, all channels, 1]. See `GivenNorms`."""
        return GivenNorms(self, self.split(factors), self.split(offsets))


class StyledNorms:
    """The norms of one pass, with its styles and its statistics. See `AdaptiveNorms.styled`."""

    def __init__(self, norms: AdaptiveNorms, affine: Sequence[tuple[Tensor, Tensor]], statistics: Statistics) -> None:
        self._norms = norms
        self._affine = affine
        self._statistics = statistics

    def __call__(self, norm: Module, x: Tensor, extent: Extent) -> Tensor:
        """See `Norms`."""
        layer = self._norms.layer(norm)
        gain, offset = self._affine[layer]
        mean, variance = self._statistics.moments(layer, x, extent)
        scale = gain * torch.rsqrt(variance + self._norms.epsilon)
        return extent.cut(torch.addcmul(offset - mean * scale, x, scale).to(x.dtype))


class GivenNorms:
    """x · factor + offset: a norm with factor = gain / √(variance + ε) and offset = shift - mean · factor."""

    def __init__(self, norms: AdaptiveNorms, factors: Sequence[Tensor], offsets: Sequence[Tensor]) -> None:
        self._norms = norms
        self._factors = factors
        self._offsets = offsets

    def __call__(self, norm: Module, x: Tensor, extent: Extent) -> Tensor:
        """See `Norms`."""
        layer = self._norms.layer(norm)
        return extent.cut(torch.addcmul(self._offsets[layer], x, self._factors[layer]).to(x.dtype))
