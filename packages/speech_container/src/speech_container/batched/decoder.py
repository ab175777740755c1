"""kokoro's frame-rate decoder (`Decoder` up to its generator) on padded batches."""

import torch
from kokoro.istftnet import Decoder
from torch import Tensor

from .adaptive_norm import AdaptiveNorms, OwnStatistics
from .extent import Extent
from .prosody import Curves
from .residual import leaky_block


class FrameDecoder:
    """`decoder`: its generator is not used. `dtype`: that of its convolutions."""

    def __init__(self, decoder: Decoder, norms: AdaptiveNorms, dtype: torch.dtype) -> None:
        self._decoder = decoder
        self._norms = norms
        self._dtype = dtype

    def __call__(self, phonetics: Tensor, curves: Curves, styles: Tensor, extent: Extent) -> Tensor:
        """`phonetics`: [b, 512, t]; `styles`: [b, 256] → [b, 512, 2 t], 0 in the padding."""
        decoder, extent = self._decoder, extent.in_type(self._dtype)
        norms = self._norms.styled(styles[:, :128], OwnStatistics())
        phonetics = phonetics.to(self._dtype)
        pitch = decoder.F0_conv(curves.pitch_hz[:, None].to(self._dtype))
        loudness = decoder.N_conv(curves.loudness[:, None].to(self._dtype))
        x, _ = leaky_block(decoder.encode, torch.cat([phonetics, pitch, loudness], 1), norms, extent)
        beside = torch.cat([decoder.asr_res(phonetics), pitch, loudness], 1)
        for block in decoder.decode:
            x, extent = leaky_block(block, torch.cat([x, beside], 1), norms, extent)
        return extent.cut(x)
