"""Segments that the scheduler has made chunk by chunk."""

import math

import pytest
from speech_container.listener import Piece
from speech_container.scheduler import Wake

from packages.speech_container.tests.desk import Desk


def test_a_segment_is_made_chunk_by_chunk_before_the_next_one() -> None:
    desk = Desk()
    job = desk.submit(1, 2, in_chunks=True)
    assert desk.run_chunk(1.0, 2.0, 4.0) == Piece(job, 0, 0)
    assert desk.run_chunk(2.0, 4.0) == Piece(job, 0, 1)
    assert desk.run_chunk(4.0) == Piece(job, 0, 2)
    assert desk.run_chunk(1.0) == Piece(job, 1, 0)
    assert desk.scheduler.jobs == 0


def test_between_two_chunks_whoever_has_nothing_to_hear_goes_first() -> None:
    desk = Desk()
    long = desk.submit(1, 1, in_chunks=True)
    desk.run_chunk(1.0, 2.0, 4.0)
    late = desk.submit(2, 1)
    assert [desk.run()[0].job, desk.run_chunk(2.0, 4.0).job] == [late, long]


def test_a_chunk_waits_in_line_by_when_its_listener_runs_dry() -> None:
    desk = Desk(step_s=0.1)
    chunked, whole = desk.submit(1, 1, in_chunks=True), desk.submit(2, 2)
    desk.run_chunk(1.0, 2.0, 4.0)  # heard until 1.1
    desk.audio_s = 1.5
    desk.run()  # heard until 1.7
    assert desk.run_chunk(2.0, 4.0) == Piece(chunked, 0, 1)  # heard until 3.1
    assert desk.run()[0].job == whole


def test_a_chunk_is_made_no_further_ahead_than_the_look_ahead() -> None:
    desk = Desk(step_s=0.0, look_ahead_s=2.0)
    job = desk.submit(1, 1, in_chunks=True)
    desk.run_chunk(1.0, 2.0, 4.0)
    desk.run_chunk(2.0, 4.0)
    assert desk.tick() == Wake(1.0)
    desk.now_s = 1.0
    assert desk.begin() == (Piece(job, 0, 2),)


def test_a_cancel_takes_effect_before_the_next_chunk() -> None:
    desk = Desk()
    job = desk.submit(1, 2, in_chunks=True)
    (piece,) = desk.begin()
    desk.scheduler.cancelled(job, desk.now_s)
    desk.scheduler.step_finished([1.0], desk.now_s, [(2.0, 4.0)])
    assert piece.job == job
    assert desk.tick() == Wake(None)
    assert (desk.scheduler.jobs, desk.scheduler.waiting) == (0, 0)


def test_a_chunk_that_fails_ends_its_job() -> None:
    desk = Desk()
    desk.submit(1, 2, in_chunks=True)
    desk.run_chunk(1.0, 2.0)
    desk.begin()
    desk.scheduler.step_finished([None], desk.now_s, [()])
    assert desk.scheduler.jobs == 0


def test_chunks_share_a_step_with_whatever_else_is_due() -> None:
    desk = Desk(max_batch=3)
    chunked, whole = desk.submit(1, 1, in_chunks=True), desk.submit(2, 2)
    assert desk.begin() == (Piece(chunked, 0), Piece(whole, 0))
    desk.scheduler.step_finished([1.0, 1.0], desk.now_s, [(2.0,), ()])
    assert desk.begin() == (Piece(chunked, 0, 1), Piece(whole, 1))


def test_room_in_a_step_goes_to_nothing_that_needs_the_chunk_before_it() -> None:
    desk = Desk(max_batch=4, step_s=0.0)
    chunked = desk.submit(1, 3, in_chunks=True)
    desk.run_chunk(1.0, 2.0)  # nobody is dry from now on
    assert desk.begin() == (Piece(chunked, 0, 1),)


def test_a_segment_that_came_whole_is_followed_by_the_next() -> None:
    desk = Desk()
    job = desk.submit(1, 2, in_chunks=True)
    assert [desk.run(), desk.run()] == [(Piece(job, 0),), (Piece(job, 1),)]


def test_the_wait_for_a_first_chunk_is_as_short_as_first_chunks_have_been() -> None:
    desk = Desk(step_s=0.1, max_wait_s=math.inf)
    for listener in range(30):  # each a second of audio first and three after it, all at the same pace
        desk.submit(listener, 1, in_chunks=True)
        desk.step_s = 0.1
        desk.run_chunk(1.0, 3.0)
        desk.now_s += 0.95
        desk.step_s = 0.3
        desk.run_chunk(3.0)
        desk.now_s += 20.0
    for listener in range(100, 104):
        desk.submit(listener, 1, in_chunks=True)
    assert desk.scheduler.wait_s(desk.now_s) == pytest.approx(4 * 0.1, rel=0.05)
    for listener in range(200, 202):
        desk.submit(listener, 1)
    assert desk.scheduler.wait_s(desk.now_s) == pytest.approx(4 * 0.1 + 2 * 0.4, rel=0.05)


def test_the_rest_of_a_segment_counts_as_work_for_now() -> None:
    desk = Desk(look_ahead_s=10.0)
    desk.submit(1, 1, in_chunks=True)
    assert desk.scheduler.claimed(desk.now_s) == 1
    desk.run_chunk(1.0, 2.0, 4.0)
    assert desk.scheduler.claimed(desk.now_s) == 1
    assert desk.scheduler.waiting == 0
