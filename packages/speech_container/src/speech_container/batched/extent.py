"""Where the items of a right-padded batch end, at one time resolution."""

import torch
from torch import Tensor


class Extent:
    """`lengths`: int64 [b], the steps of each item, at least 1; `steps`: those of the tensors.

    `is_full`: no item is shorter than the tensors, which the host knows, so that nothing has to be cut off. `mask` is
    [b, 1, steps] in `dtype`, 1 where an item is and 0 in its padding.
    """

    def __init__(self, lengths: Tensor, steps: int, dtype: torch.dtype, *, is_full: bool = False) -> None:
        self.lengths = lengths
        self.steps = steps
        self.is_full = is_full
        self.mask = (torch.arange(steps, device=lengths.device)[None, None] < lengths[:, None, None]).to(dtype)
        self._count = lengths[:, None, None].to(torch.promote_types(dtype, torch.float32))
        self._dtype = dtype

    @classmethod
    def full(cls, items: int, steps: int, like: Tensor) -> "Extent":
        """Of `items` that all have `steps`, on the device and in the type of `like`."""
        lengths = torch.full((items,), steps, dtype=torch.int64, device=like.device)
        return cls(lengths, steps, like.dtype, is_full=True)

    def finer(self, factor: int, extra: int = 0) -> "Extent":
        """The same items with `factor` times the steps, and `extra` more."""
        return Extent(self.lengths * factor + extra, self.steps * factor + extra, self._dtype, is_full=self.is_full)

    def in_type(self, dtype: torch.dtype) -> "Extent":
        """The same for tensors of another type."""
        return self if dtype == self._dtype else Extent(self.lengths, self.steps, dtype, is_full=self.is_full)

    def cut(self, x: Tensor) -> Tensor:
        """`x` [b, channels, steps] with zeros in the padding."""
        return x if self.is_full else x * self.mask

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and (biased) variance over each item's own steps: [b, channels, 1] in float32 or better."""
        own = x if self.is_full else x * self.mask
        mean = own.sum(-1, keepdim=True, dtype=self._count.dtype) / self._count
        deviation = own - mean if self.is_full else torch.addcmul(own, mean, self.mask, value=-1)
        return mean, deviation.square_().sum(-1, keepdim=True) / self._count
