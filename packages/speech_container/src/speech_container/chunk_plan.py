"""Into which chunks an utterance of low latency is cut: short at first, so that it is heard soon, then longer.

While one chunk is heard the next is made, so a chunk may be as much longer than the one before as the engine is faster
than speech; and each is made with some frames on both sides that are thrown away, so few long ones cost less. The
first has 16 frames (0.4 s), each other one twice as many as the one before, up to 128.

What is made for a chunk is a window. All windows but the last of an utterance have one of four lengths. The last one
reaches further back than it must, to a length that is a multiple of 16: so a runtime that prepares for each length that
it meets has met them all after a few sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FIRST_FRAMES: Final = 16
GROWTH: Final = 2
MOST_FRAMES: Final = 128
EXACT_BELOW_FRAMES: Final = 100
"""What is shorter is made whole: there is little to gain, and statistics of one or two words are hard to predict."""


CONTEXT_FRAMES: Final = 5
"""On each side of a chunk, where there is an utterance: `kokoro_weights.stages` has what it is worth."""
_LAST_WINDOW_STEP: Final = 16


@dataclass(frozen=True, slots=True)
class Window:
    """Frames from `begin` to `end` of an utterance are made; the first `skip` are thrown away, `keep` are kept."""

    begin: int
    end: int
    skip: int
    keep: int


def chunk_window(chunks: Sequence[int], index: int) -> Window:
    """What is made for the chunk `index` of an utterance that is cut so."""
    begin = sum(chunks[:index])
    end = begin + chunks[index]
    total = sum(chunks)
    low, high = max(0, begin - CONTEXT_FRAMES), min(total, end + CONTEXT_FRAMES)
    if high == total:
        low = max(0, high - -(-(high - low) // _LAST_WINDOW_STEP) * _LAST_WINDOW_STEP)
    return Window(low, high, begin - low, chunks[index])


def chunk_frames(frames: int) -> tuple[int, ...]:
    """How many of an utterance's `frames` each chunk has; one chunk where it is to be made whole.

    A last chunk of less than half the first is joined to the one before it.
    """
    if frames < EXACT_BELOW_FRAMES:
        return (frames,)
    chunks: list[int] = []
    size = FIRST_FRAMES
    left = frames
    while left:
        taken = left if left < size + FIRST_FRAMES // 2 else size
        chunks.append(taken)
        left -= taken
        size = min(size * GROWTH, MOST_FRAMES)
    return tuple(chunks)
