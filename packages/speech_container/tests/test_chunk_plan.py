"""Chunks begin short, grow, and add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.chunk_plan import EXACT_BELOW_FRAMES, FIRST_FRAMES, MOST_FRAMES, chunk_frames


@pytest.mark.parametrize(
    ("frames", "chunks"),
    [
        (1, (1,)),
        (99, (99,)),
        (100, (40, 60)),
        (139, (40, 99)),
        (140, (40, 80, 20)),
        (280, (40, 80, 160)),
        (299, (40, 80, 179)),
        (300, (40, 80, 160, 20)),
        (1000, (40, 80, 160, 160, 160, 160, 160, 80)),
    ],
)
def test_a_chunk_is_twice_the_one_before_and_the_last_one_is_not_tiny(frames: int, chunks: tuple[int, ...]) -> None:
    assert chunk_frames(frames) == chunks


@given(st.integers(1, 5000))
def test_whatever_the_length_all_of_it_is_made(frames: int) -> None:
    chunks = chunk_frames(frames)
    assert sum(chunks) == frames
    if frames >= EXACT_BELOW_FRAMES:
        assert chunks[0] == FIRST_FRAMES
        assert min(chunks) >= FIRST_FRAMES // 2
        assert max(chunks) < MOST_FRAMES + FIRST_FRAMES // 2
