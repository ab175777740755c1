"""How the scheduler's jobs end: sent, cancelled, interrupted, failed, or with their listener."""

import pytest
from speech_container.listener import Piece
from speech_container.scheduler import Wake

from packages.speech_container.tests.desk import Desk


def test_a_job_ends_when_all_of_it_was_sent() -> None:
    desk = Desk()
    job = desk.submit(1, 2)
    desk.run()
    desk.run(deliver=False)
    assert desk.scheduler.jobs == 1
    desk.scheduler.delivered(job, 1.0, desk.now_s)
    assert (desk.scheduler.jobs, desk.scheduler.waiting) == (0, 0)


def test_a_cancelled_job_takes_no_step_and_leaves_nothing_behind() -> None:
    desk = Desk()
    job = desk.submit(1, 5)
    step = desk.begin()
    desk.scheduler.cancelled(job, desk.now_s)
    desk.scheduler.cancelled(job, desk.now_s)
    desk.finish(step)
    assert desk.tick() == Wake(None)
    assert (desk.scheduler.jobs, desk.scheduler.waiting, desk.scheduler.listeners) == (0, 0, 0)


def test_the_next_job_runs_when_the_one_before_was_cancelled_in_mid_step() -> None:
    desk = Desk()
    first, second = desk.submit(1, 5), desk.submit(1, 1)
    step = desk.begin()
    desk.scheduler.cancelled(first, desk.now_s)
    desk.finish(step)
    assert desk.run() == (Piece(second, 0),)


def test_a_listener_that_cut_its_answer_short_is_dry() -> None:
    desk = Desk()
    cut = desk.submit(1, 9)
    for _ in range(5):
        desk.run()
    other = desk.submit(2, 2)
    desk.run()  # hears this for another second
    desk.scheduler.cancelled(cut, desk.now_s)
    again = desk.submit(1, 1)
    assert [desk.run()[0].job for _ in range(2)] == [again, other]


def test_cancelling_stops_the_sound_of_the_requests_before_too() -> None:
    """As with a text that is spoken as it is written: each sentence is a job, and most of what is heard was sent."""
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    cut = desk.submit(1, 1)
    desk.scheduler.cancelled(cut, desk.now_s)
    again, other = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [again, other]


def test_cancelling_what_waits_behind_another_request_stops_no_sound() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 2)
    behind = desk.submit(1, 1)
    desk.run()
    desk.scheduler.cancelled(behind, desk.now_s)
    dry = desk.submit(2, 1)
    assert desk.run()[0].job == dry


def test_a_failed_segment_stops_no_sound() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 2)
    desk.run()
    assert desk.begin()
    desk.scheduler.step_finished([None], desk.now_s)
    hears, dry = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [dry, hears]


def test_an_interrupted_listener_is_dry_whatever_was_sent_to_it() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    desk.scheduler.interrupted(1, desk.now_s)
    again, other = desk.submit(1, 1), desk.submit(2, 1)
    assert [desk.run()[0].job for _ in range(2)] == [again, other]


def test_a_disconnected_listener_is_forgotten_with_all_its_jobs() -> None:
    desk = Desk()
    first, second = desk.submit(1, 3), desk.submit(1, 3)
    other = desk.submit(2, 1)
    step = desk.begin()
    assert desk.scheduler.disconnected(1) == (first, second)
    assert desk.scheduler.disconnected(1) == ()
    desk.finish(step)
    assert desk.run() == (Piece(other, 0),)
    assert desk.scheduler.jobs == 0


def test_an_interrupted_listener_goes_on_with_the_jobs_it_has() -> None:
    desk = Desk(audio_s=5.0)
    interrupted, other = desk.submit(1, 3), desk.submit(2, 3)
    assert [desk.run()[0].job for _ in range(3)] == [interrupted, other, interrupted]
    desk.scheduler.interrupted(1, desk.now_s)
    assert desk.run() == (Piece(interrupted, 2),)


def test_a_job_that_was_cancelled_in_mid_step_takes_nothing_from_the_others_in_it() -> None:
    desk = Desk(max_batch=3)
    gone, *kept = [desk.submit(listener, 1) for listener in (1, 2, 3)]
    step = desk.begin()
    desk.scheduler.cancelled(gone, desk.now_s)
    desk.finish(step, deliver=False)
    for job in kept:
        desk.scheduler.delivered(job, desk.audio_s, desk.now_s)
    assert desk.scheduler.jobs == 0


def test_a_failed_segment_ends_its_job_and_no_other() -> None:
    desk = Desk(max_batch=2)
    desk.submit(1, 3)
    fine = desk.submit(2, 2)
    step = desk.begin()
    desk.scheduler.step_finished([None, 1.0], desk.now_s)
    assert len(step) == 2
    assert desk.scheduler.jobs == 1
    assert desk.run() == (Piece(fine, 1),)


def test_a_failed_segment_takes_what_follows_it_in_the_step_along() -> None:
    desk = Desk(max_batch=3)
    job = desk.submit(1, 4)
    desk.run()
    assert desk.begin() == (Piece(job, 1), Piece(job, 2), Piece(job, 3))
    desk.scheduler.step_finished([1.0, None, 1.0], desk.now_s)
    assert (desk.scheduler.jobs, desk.scheduler.waiting) == (0, 0)


def test_a_listener_is_remembered_until_it_has_heard_everything() -> None:
    desk = Desk(audio_s=5.0)
    desk.submit(1, 1)
    desk.run()
    assert desk.scheduler.listeners == 1
    desk.submit(1, 1)
    assert desk.scheduler.listeners == 1
    desk.run()
    desk.now_s += 10.0
    desk.tick()
    assert desk.scheduler.listeners == 0


def test_a_step_that_nobody_began_cannot_finish() -> None:
    with pytest.raises(RuntimeError, match="no step is running"):
        Desk().scheduler.step_finished([], 0.0)
