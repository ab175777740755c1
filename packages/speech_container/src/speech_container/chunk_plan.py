"""Into which chunks an utterance of low latency is cut: short at first, so that it is heard soon, then longer.

While one chunk is heard the next is made, so a chunk may be as much longer than the one before as the engine is faster
than speech; and each is made with some frames on both sides that are thrown away, so few long ones cost less. The
first has 40 frames (a second), each other one twice as many as the one before, up to 160.
"""

from typing import Final

FIRST_FRAMES: Final = 40
GROWTH: Final = 2
MOST_FRAMES: Final = 160
EXACT_BELOW_FRAMES: Final = 100
"""What is shorter is made whole: there is little to gain, and statistics of one or two words are hard to predict."""


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
