"""Each token's features, for as many frames as the token lasts.

The durations are on the host by then, because they say how many frames there are; so the host also says which token
each frame belongs to.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class LengthRegulator:
    """`durations`: int64 [b, tokens], 0 in the padding; `frames`: how many the results have."""

    def __init__(self, durations: NDArray[np.int64], frames: int, device: torch.device) -> None:
        tokens = np.zeros((len(durations), frames), np.int64)
        for row, of_item in zip(tokens, durations, strict=True):
            row[: of_item.sum()] = np.repeat(np.arange(len(of_item)), of_item)
        self._tokens = torch.from_numpy(tokens).to(device, non_blocking=True)

    def __call__(self, features: Tensor) -> Tensor:
        """[b, tokens, channels] → [b, channels, frames]; in the padding it is the first token's."""
        wanted = self._tokens[..., None].expand(-1, -1, features.shape[-1])
        return features.gather(1, wanted).transpose(1, 2)
