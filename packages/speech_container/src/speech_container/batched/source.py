"""The harmonic source (kokoro's `SourceModuleHnNSF`): nine sines at multiples of the pitch, and noise.

The sums are kokoro's, in its order, so that the phase (a running sum, times 300) is the same to the last bits. In the
padding the pitch is 0, so the phase stands still behind an item's end, where the interpolation of an item alone is
held too. Each utterance's noise comes from a generator of its own, in the order in which kokoro draws it after
`torch.manual_seed(seed)`: the same seed is the same noise, alone, in a batch, and in kokoro itself.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from kokoro.istftnet import SourceModuleHnNSF
from torch import Tensor

from .extent import Extent


class HarmonicSource:
    """`module` stays in float32 (or better) whatever the generator's type is."""

    def __init__(self, module: SourceModuleHnNSF) -> None:
        self._module = module
        self._sines = module.l_sin_gen
        self._multiples = torch.arange(1, self._sines.dim + 1, device=module.l_linear.weight.device)

    @property
    def harmonics(self) -> int:
        """How many sines there are: the channels of the noise."""
        return int(self._sines.dim)

    @property
    def samples_a_step(self) -> int:
        """Samples for each step (half frame) of the pitch."""
        return int(self._sines.upsample_scale)

    def draw_noise(self, into: Tensor, seed: int, samples: int) -> None:
        """Fill [harmonics, at least `samples`] with an utterance's noise; what is behind `samples` is left as it is."""
        generator = torch.Generator(into.device)
        generator.manual_seed(seed)
        torch.rand(1, self.harmonics, generator=generator, device=into.device, dtype=into.dtype)  # unused, as kokoro's
        into[None, :, :samples].transpose(1, 2).normal_(generator=generator)  # transposed: torch's order depends on it

    def __call__(self, pitch_hz: Tensor, noise: Tensor, extent: Extent) -> Tensor:
        """`pitch_hz`: [b, steps], 0 in the padding; `noise`: [b, harmonics, samples] → [b, samples], 0 in the padding.

        `extent`: of the samples.
        """
        sines, scale = self._sines, self.samples_a_step
        turns = (pitch_hz[..., None] * self._multiples / sines.sampling_rate) % 1
        phase = (torch.cumsum(turns, 1) * 2 * torch.pi).transpose(1, 2) * scale
        waves = torch.sin(F.interpolate(phase, scale_factor=scale, mode="linear")) * sines.sine_amp
        is_voiced = (pitch_hz > sines.voiced_threshold).to(waves.dtype).repeat_interleave(scale, 1)[:, None]
        noise_level = is_voiced * sines.noise_std + (1 - is_voiced) * sines.sine_amp / 3
        excitation = (waves * is_voiced + noise_level * noise).transpose(1, 2)
        merged = self._module.l_tanh(self._module.l_linear(excitation)).transpose(1, 2)
        return extent.cut(merged).squeeze(1)
