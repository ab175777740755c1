"""Which utterances share a pass of the frame side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.batched.buckets import (
    MAX_PASS_FRAMES,
    PASS_FRAMES,
    Pass,
    frame_bucket,
    passes,
    token_bucket,
)
from speech_container.engine import MAX_TOKENS

LENGTHS = st.lists(st.integers(1, 3000), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("frames", "bucket"), [(1, 32), (32, 32), (33, 64), (256, 256), (257, 320), (320, 320), (321, 384)]
)
def test_buckets_are_finer_where_they_weigh_more(frames: int, bucket: int) -> None:
    assert frame_bucket(frames) == bucket


@pytest.mark.parametrize(("tokens", "bucket"), [(3, 16), (16, 16), (17, 32), (511, 512), (512, 512)])
def test_tokens_have_buckets_within_the_window(tokens: int, bucket: int) -> None:
    assert token_bucket(tokens) == bucket <= MAX_TOKENS + 2


def test_utterances_of_one_length_go_together() -> None:
    assert passes([100, 100, 100]) == [Pass((0, 1, 2), 128)]


def test_a_short_one_does_not_wait_in_the_padding_of_a_long_one() -> None:
    assert passes([900, 50, 60]) == [Pass((1, 2), 64), Pass((0,), 960)]


def test_a_little_padding_is_cheaper_than_another_pass() -> None:
    assert passes([100, 130]) == [Pass((0, 1), 160)]


def test_no_pass_is_wider_than_memory_allows() -> None:
    found = passes([1200] * 8)
    assert [len(each.items) for each in found] in ([2, 6], [6, 2], [4, 4], [3, 5], [5, 3])
    assert max(each.padded_frames for each in found) <= MAX_PASS_FRAMES


def test_an_utterance_that_is_wider_alone_goes_alone() -> None:
    assert passes([MAX_PASS_FRAMES + 1, 100])[-1] == Pass((0,), MAX_PASS_FRAMES + 64)


@given(LENGTHS)
def test_each_utterance_is_in_one_pass_that_is_long_enough(frames: list[int]) -> None:
    found = passes(frames)
    assert sorted(item for each in found for item in each.items) == list(range(len(frames)))
    assert all(frames[item] <= each.frames for each in found for item in each.items)


@given(LENGTHS)
def test_no_other_cuts_of_the_sorted_lengths_are_cheaper(frames: list[int]) -> None:
    def cost(found: list[Pass]) -> int:
        return sum(each.padded_frames + PASS_FRAMES for each in found)

    ordered = sorted(frames)
    others = []
    for cuts in range(2 ** (len(ordered) - 1)):
        ends = [place + 1 for place in range(len(ordered) - 1) if cuts >> place & 1] + [len(ordered)]
        parts = [ordered[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        other = [Pass(tuple(range(len(part))), frame_bucket(part[-1])) for part in parts]
        if all(each.padded_frames <= MAX_PASS_FRAMES for each in other):
            others.append(cost(other))
    assert cost(passes(frames)) == min(others)


def test_there_is_a_fixed_number_of_shapes_for_the_lengths_that_speech_has() -> None:
    shapes = {(len(each.items), each.frames) for frames in range(1, 2001) for each in passes([frames] * 4)}
    assert len(shapes) <= 8 + (2048 - 256) // 64
