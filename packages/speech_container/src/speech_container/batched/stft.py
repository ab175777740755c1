"""The short transforms around the generator, each item with the edges that it has alone (kokoro's `TorchSTFT`).

As matrix products: a transform of 20 samples is a matrix of 20 by 22, so nothing is planned, cached or allocated for
a length. At the right-hand edge torch mirrors the signal for the analysis, which here happens at each item's own end,
and divides by the windows that overlap there for the synthesis, which here are those of the item's own frames.
"""

import math

import torch
from kokoro.istftnet import TorchSTFT
from torch import Tensor

from .extent import Extent


class ShortTransform:
    """Spectra of `n_fft` samples every `hop`. `like`: a tensor of the device and the type to work in."""

    def __init__(self, stft: TorchSTFT, like: Tensor) -> None:
        self.n_fft: int = stft.filter_length
        self.hop: int = stft.hop_length
        self.bins = self.n_fft // 2 + 1
        window = stft.window.double()
        times = torch.arange(self.n_fft, dtype=torch.float64)
        angles = 2 * math.pi / self.n_fft * torch.outer(times, torch.arange(self.bins, dtype=torch.float64))
        cosines, sines = torch.cos(angles), torch.sin(angles)
        sines[:, 0] = sines[:, -1] = 0  # exactly: the phase of a real number is 0 or pi
        doubled = torch.full((self.bins, 1), 2.0, dtype=torch.float64)
        doubled[0] = doubled[-1] = 1
        self.dtype = like.dtype
        self._window = window.to(like)
        self._analysis = (torch.cat([cosines, -sines], 1) * window[:, None]).to(like)
        self._synthesis = (torch.cat([cosines.T * doubled, -sines.T * doubled]) * window / self.n_fft).to(like)

    def frames(self, samples: Extent) -> Extent:
        """How many spectra there are of so many samples."""
        lengths = samples.lengths // self.hop + 1
        return Extent(lengths, samples.steps // self.hop + 1, self.dtype, is_full=samples.is_full)

    def analyse(self, signal: Tensor, samples: Extent) -> Tensor:
        """[b, samples] → magnitudes and phases [b, 2 bins, frames], 0 in the padding."""
        half = self.n_fft // 2
        ends = samples.lengths[:, None]
        wanted = torch.arange(-half, samples.steps + half, device=signal.device).abs()[None]
        wanted = torch.where(wanted >= ends, 2 * (ends - 1) - wanted, wanted).clamp(min=0)
        windows = signal.gather(1, wanted).unfold(1, self.n_fft, self.hop)
        real, imaginary = (windows @ self._analysis).transpose(1, 2).chunk(2, 1)
        magnitude = torch.sqrt(real * real + imaginary * imaginary)
        phase = torch.atan2(imaginary, real)
        phase = torch.where((imaginary == 0) & (real < 0), torch.pi, phase)  # never -pi, as torch.stft has it
        return self.frames(samples).cut(torch.cat([magnitude, phase], 1))

    def synthesise(self, magnitude: Tensor, phase: Tensor, samples: Extent) -> Tensor:
        """Two of [b, bins, frames] → [b, samples], 0 in the padding."""
        frames = self.frames(samples)
        spectrum = torch.cat([magnitude * torch.cos(phase), magnitude * torch.sin(phase)], 1)
        pieces = (frames.cut(spectrum).transpose(1, 2) @ self._synthesis).unflatten(-1, (-1, self.hop))
        weights = frames.mask[:, 0, :, None, None] * self._window.square().view(-1, self.hop)
        half = self.n_fft // 2
        signal, weight = (self._overlapped(each)[:, half : half + samples.steps] for each in (pieces, weights))
        return torch.where(samples.mask[:, 0] > 0, signal / weight.clamp_min(1e-11), 0)

    @staticmethod
    def _overlapped(pieces: Tensor) -> Tensor:
        """[b, frames, n_fft / hop, hop], each frame a hop after the one before it → their sum [b, samples]."""
        overlap = pieces.shape[2]
        shifted = (
            torch.nn.functional.pad(pieces[:, :, late], (0, 0, late, overlap - 1 - late)) for late in range(overlap)
        )
        return torch.stack(tuple(shifted)).sum(0).flatten(1)
