"""kokoro's two kinds of residual blocks (`AdainResBlk1d`, `AdaINResBlock1`), with norms that know the padding.

Each convolution stands behind a norm, whose padding is 0, and an activation that keeps it 0. So it needs no mask; the
results may hold anything in the padding.
"""

import math

import torch
from kokoro.istftnet import AdainResBlk1d, AdaINResBlock1
from torch import Tensor

from .adaptive_norm import Norms
from .extent import Extent


def leaky_block(block: AdainResBlk1d, x: Tensor, norms: Norms, extent: Extent) -> tuple[Tensor, Extent]:
    """[b, channels, steps] → [b, other channels, steps], and twice the steps where the block doubles them."""
    inner = block.actv(norms(block.norm1, x, extent))
    if block.upsample_type != "none":
        extent = extent.finer(2)
        inner = extent.cut(block.pool(inner))
        x = x.repeat_interleave(2, -1)
    inner = block.conv1(inner)
    inner = block.conv2(block.actv(norms(block.norm2, inner, extent)))
    if block.learned_sc:
        x = block.conv1x1(x)
    return (inner + x) * math.sqrt(0.5), extent


def snake_block(block: AdaINResBlock1, x: Tensor, norms: Norms, extent: Extent) -> Tensor:
    """[b, channels, steps] → the same."""
    layers = zip(block.convs1, block.convs2, block.adain1, block.adain2, block.alpha1, block.alpha2, strict=True)
    for first, second, norm1, norm2, alpha1, alpha2 in layers:
        inner = first(_snake(norms(norm1, x, extent), alpha1))
        x = second(_snake(norms(norm2, inner, extent), alpha2)) + x
    return x


def _snake(x: Tensor, alpha: Tensor) -> Tensor:
    return x + (1 / alpha) * torch.sin(alpha * x) ** 2
