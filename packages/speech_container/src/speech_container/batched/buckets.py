"""Which utterances go through the frame side together, and how long their tensors are.

A pass costs what its padded frames cost, and something for being a pass at all. Lengths are rounded up to buckets, so
that there are few different ones: finer where a step of the bucket weighs more. A batch of short and long utterances
is cut where padding the short ones would cost more than another pass, so what padding costs is bounded whatever the
scheduler puts together (benchmarks/padding.py has the numbers). No pass is wider than memory allows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..engine import MAX_TOKENS

FINE_FRAMES: Final = 32
COARSE_FRAMES: Final = 64
COARSE_FROM_FRAMES: Final = 256
PASS_FRAMES: Final = 64
"""What a further pass costs, as frames, where the device is busy with the one before while it is launched."""
MAX_PASS_FRAMES: Final = 8192
"""Items × frames. The generator's widest tensors hold 15,360 values a frame: 0.5 GB here in float32, and a few live."""
TOKEN_STEP: Final = 16


@dataclass(frozen=True, slots=True)
class Pass:
    """`items`: indices into the batch; `frames`: how long their tensors are."""

    items: tuple[int, ...]
    frames: int

    @property
    def padded_frames(self) -> int:
        """What the pass works on."""
        return len(self.items) * self.frames


def frame_bucket(frames: int) -> int:
    """`frames`, rounded up to a bucket."""
    step = FINE_FRAMES if frames <= COARSE_FROM_FRAMES else COARSE_FRAMES
    return math.ceil(frames / step) * step


def token_bucket(tokens: int) -> int:
    """`tokens` (with the boundary tokens), rounded up to a bucket, within the model's window."""
    return min(MAX_TOKENS + 2, math.ceil(tokens / TOKEN_STEP) * TOKEN_STEP)


def passes(frames: Sequence[int]) -> list[Pass]:
    """The cheapest passes for utterances of so many frames. Each utterance is in one of them.

    Only neighbours in length share a pass, so the best cuts of the n shortest follow from those of fewer.
    """
    order = sorted(range(len(frames)), key=frames.__getitem__)
    costs, cuts = [0], [0]
    for end in range(1, len(order) + 1):
        bucket = frame_bucket(frames[order[end - 1]])
        least = max(0, end - max(1, MAX_PASS_FRAMES // bucket))
        cost, cut = min((costs[begin] + (end - begin) * bucket + PASS_FRAMES, begin) for begin in range(least, end))
        costs.append(cost)
        cuts.append(cut)
    found: list[Pass] = []
    end = len(order)
    while end:
        items = tuple(order[cuts[end] : end])
        found.append(Pass(items, frame_bucket(frames[items[-1]])))
        end = cuts[end]
    return found[::-1]
