"""The scheduler, as lists of what it is told and what it answers: who goes first, in which steps, and how far ahead."""

import pytest
from speech_container.listener import Piece
from speech_container.scheduler import Wake

from packages.speech_container.tests.desk import Desk

# Order


def test_a_job_runs_segment_by_segment_in_order() -> None:
    desk = Desk()
    job = desk.submit(1, 3)
    assert [desk.run() for _ in range(4)] == [(Piece(job, 0),), (Piece(job, 1),), (Piece(job, 2),), ()]


def test_the_jobs_of_a_listener_run_in_the_order_they_came() -> None:
    desk = Desk()
    first, second = desk.submit(1, 2), desk.submit(1, 1)
    assert [desk.run()[0] for _ in range(3)] == [Piece(first, 0), Piece(first, 1), Piece(second, 0)]


def test_while_a_step_runs_there_is_nothing_to_do() -> None:
    desk = Desk(max_batch=4)
    desk.submit(1, 3)
    assert desk.begin()
    assert desk.tick() == Wake(None)


def test_first_segments_run_in_order_of_arrival() -> None:
    desk = Desk()
    jobs = []
    for listener in (3, 1, 2):
        jobs.append(desk.submit(listener, 1))
        desk.now_s += 0.01
    assert [desk.run()[0].job for _ in range(3)] == jobs


def test_whoever_has_nothing_to_hear_goes_before_whoever_has() -> None:
    desk = Desk()
    long = desk.submit(1, 10)
    desk.run()
    late = desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [late, long]


def test_whoever_runs_dry_first_goes_first_whoever_was_served_first() -> None:
    desk = Desk()
    early, late = desk.submit(1, 3), desk.submit(2, 3)
    desk.audio_s = 3.0
    assert desk.run()[0].job == early
    desk.audio_s = 1.0
    assert [desk.run()[0].job for _ in range(3)] == [late, late, late]


def test_whoever_ran_dry_in_mid_answer_goes_before_whoever_came_since() -> None:
    desk = Desk(step_s=0.1)
    long = desk.submit(1, 2)
    desk.run()
    desk.submit(2, 1)
    step = desk.begin()
    desk.now_s = 1.5  # the step took long: listener 1 ran dry at 1.1
    newcomer = desk.submit(3, 1)
    desk.finish(step)
    assert [desk.run()[0].job for _ in range(2)] == [long, newcomer]


def test_audio_that_was_not_sent_yet_counts_as_heard_from_when_it_was_made() -> None:
    desk = Desk(step_s=0.1)
    sent, unsent = desk.submit(1, 2), desk.submit(2, 2)
    desk.run()  # listener 1 hears this until 1.1
    desk.audio_s = 0.5
    desk.run(deliver=False)  # listener 2 until 0.7, if it is sent at once
    assert [desk.run()[0].job for _ in range(2)] == [unsent, sent]


def test_late_delivery_moves_the_end_of_what_is_heard() -> None:
    desk = Desk(step_s=0.1)
    one, other = desk.submit(1, 2), desk.submit(2, 2)
    desk.run(deliver=False)
    desk.audio_s = 1.2
    desk.run()  # listener 2 hears this until 1.4
    desk.now_s = 1.0
    desk.scheduler.delivered(one, 1.0, desk.now_s)  # listener 1 hears it only now, until 2.0
    assert [desk.run()[0].job for _ in range(2)] == [other, one]


# Batches


def test_a_step_takes_the_most_urgent_of_each_listener() -> None:
    desk = Desk(max_batch=2)
    jobs = [desk.submit(listener, 2) for listener in (1, 2, 3)]
    assert [piece.job for piece in desk.run()] == jobs[:2]
    assert desk.begin()[0].job == jobs[2]


def test_a_first_segment_does_not_wait_for_more_of_its_own() -> None:
    desk = Desk(max_batch=4)
    job = desk.submit(1, 6)
    assert desk.run() == (Piece(job, 0),)
    assert desk.run() == tuple(Piece(job, index) for index in range(1, 5)), "nobody is dry: the step is filled"


def test_a_filled_step_keeps_within_the_look_ahead() -> None:
    desk = Desk(max_batch=8, look_ahead_s=3.0)
    desk.submit(1, 20)
    for _ in range(20):  # until it is known how long a segment lasts
        desk.run()
        desk.now_s += 1.0
    desk.submit(2, 20)
    desk.run()
    assert len(desk.run()) <= 4


def test_room_in_a_filled_step_is_shared_evenly() -> None:
    desk = Desk(max_batch=5)
    one, other = desk.submit(1, 9), desk.submit(2, 9)
    desk.run()
    jobs = [piece.job for piece in desk.begin()]
    assert (jobs.count(one), jobs.count(other)) == (3, 2)


def test_an_idle_engine_waits_for_company_no_longer_than_the_window() -> None:
    desk = Desk(max_batch=4, batch_window_s=0.005)
    first = desk.submit(1, 1)
    assert desk.tick() == Wake(0.005)
    desk.now_s = 0.003
    second = desk.submit(2, 1)
    assert desk.tick() == Wake(0.005)
    desk.now_s = 0.005
    assert desk.begin() == (Piece(first, 0), Piece(second, 0))


def test_a_full_step_waits_for_nobody() -> None:
    desk = Desk(max_batch=2, batch_window_s=0.005)
    jobs = [desk.submit(listener, 1) for listener in (1, 2)]
    assert [piece.job for piece in desk.begin()] == jobs


def test_whoever_waited_through_a_step_does_not_wait_again() -> None:
    desk = Desk(max_batch=4, batch_window_s=0.005)
    desk.submit(1, 1)
    desk.now_s = 0.005
    step = desk.begin()
    late = desk.submit(2, 1)
    desk.finish(step)
    assert desk.begin() == (Piece(late, 0),)


def test_the_window_of_a_segment_that_was_held_back_opens_when_it_is_let_go() -> None:
    desk = Desk(max_batch=4, batch_window_s=0.005, look_ahead_s=1.0)
    job = desk.submit(1, 2, paced=False)
    desk.now_s = 0.005
    desk.run(deliver=False)
    desk.now_s = 50.0
    desk.scheduler.delivered(job, 1.0, desk.now_s)
    assert desk.tick() == Wake(50.005)


def test_an_engine_that_takes_one_at_a_time_waits_for_nobody() -> None:
    desk = Desk(max_batch=1, batch_window_s=0.005)
    desk.submit(1, 1)
    assert desk.begin()


# Look-ahead


def test_nobody_gets_further_ahead_of_what_was_sent_than_the_look_ahead() -> None:
    desk = Desk(look_ahead_s=2.0)
    job = desk.submit(1, 10, paced=False)
    desk.run(deliver=False)
    desk.run(deliver=False)
    desk.now_s += 100
    assert desk.tick() == Wake(None)
    desk.scheduler.delivered(job, 0.5, desk.now_s)
    assert desk.run(deliver=False) == (Piece(job, 2),)
    assert desk.tick() == Wake(None)


def test_nobody_gets_further_ahead_of_real_time_than_the_look_ahead() -> None:
    desk = Desk(look_ahead_s=2.0, step_s=0.1)
    desk.submit(1, 10)
    began_s = [when_s for when_s, _ in desk.run_all()]
    heard_until_s = 0.1 + 1.0  # the first segment's audio
    assert began_s[:3] == pytest.approx([0.0, 0.1, 0.2]), "as fast as it can, at first"
    assert began_s[3:] == pytest.approx([heard_until_s + made - 2.0 for made in range(2, 9)]), "then as it is heard"


def test_what_is_not_played_as_it_comes_is_made_as_fast_as_it_can_be() -> None:
    desk = Desk(look_ahead_s=2.0, step_s=0.1)
    desk.submit(1, 50, paced=False)
    assert [when_s for when_s, _ in desk.run_all()] == pytest.approx([0.1 * step for step in range(50)])


def test_look_ahead_counts_all_jobs_of_a_listener() -> None:
    desk = Desk(look_ahead_s=2.0)
    desk.submit(1, 2)
    desk.submit(1, 2)
    desk.run(deliver=False)
    desk.run(deliver=False)
    assert desk.tick() == Wake(None)


def test_what_a_listener_still_hears_counts_after_its_job_has_ended() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    assert desk.scheduler.jobs == 0
    hears, dry = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [dry, hears]
