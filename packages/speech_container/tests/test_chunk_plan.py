"""Chunks begin short, grow, and add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.chunk_plan import (
    CONTEXT_FRAMES,
    EXACT_BELOW_FRAMES,
    FIRST_FRAMES,
    MOST_FRAMES,
    Window,
    chunk_frames,
    chunk_window,
)


@pytest.mark.parametrize(
    ("frames", "chunks"),
    [
        (1, (1,)),
        (99, (99,)),
        (100, (16, 32, 52)),
        (119, (16, 32, 71)),
        (120, (16, 32, 64, 8)),
        (240, (16, 32, 64, 128)),
        (247, (16, 32, 64, 135)),
        (248, (16, 32, 64, 128, 8)),
        (800, (16, 32, 64, 128, 128, 128, 128, 128, 48)),
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


def test_a_window_has_context_on_both_sides_that_is_thrown_away() -> None:
    chunks = (40, 80, 160, 70)
    assert [chunk_window(chunks, index) for index in range(4)] == [
        Window(0, 45, skip=0, keep=40),
        Window(35, 125, skip=5, keep=80),
        Window(115, 285, skip=5, keep=160),
        Window(270, 350, skip=10, keep=70),
    ]


def test_windows_have_few_lengths_whatever_is_said() -> None:
    lengths = {
        window.end - window.begin
        for frames in range(EXACT_BELOW_FRAMES, 2000)
        for chunks in [chunk_frames(frames)]
        for window in [chunk_window(chunks, index) for index in range(len(chunks))]
    }
    assert len(lengths) <= 16


@given(st.integers(EXACT_BELOW_FRAMES, 5000))
def test_every_frame_is_kept_once_with_its_context(frames: int) -> None:
    chunks = chunk_frames(frames)
    kept = 0
    for index in range(len(chunks)):
        window = chunk_window(chunks, index)
        assert window.begin + window.skip == kept
        assert window.skip >= min(CONTEXT_FRAMES, kept)
        kept += window.keep
        assert 0 <= window.begin <= kept <= window.end <= frames
        assert window.end >= min(frames, kept + CONTEXT_FRAMES)
    assert kept == frames
