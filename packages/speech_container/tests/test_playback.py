"""What a listener would have heard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_container.playback import Playback, underruns


def test_nobody_runs_dry_before_the_first_audio() -> None:
    assert underruns([]) == (0, 0.0)
    assert underruns([(1000.0, 0.5)]) == (0, 0.0)


def test_audio_that_comes_in_time_is_no_underrun() -> None:
    assert underruns([(10.0, 2.0), (11.0, 2.0), (14.0, 1.0)]) == (0, 0.0)


def test_audio_that_comes_late_is_one_and_its_gap_is_heard() -> None:
    count, silent_s = underruns([(10.0, 2.0), (12.5, 1.0), (13.4, 1.0), (14.75, 1.0)])
    assert count == 2
    assert silent_s == pytest.approx(0.75)


def test_a_listener_who_reads_slowly_has_not_run_dry() -> None:
    playback = Playback()
    playback.arrived(0.0, 1.0, waited_s=0.4)
    playback.arrived(30.0, 1.0, waited_s=0.0)
    assert (playback.underruns, playback.silent_s) == (0, 0.0)
    playback.arrived(31.5, 1.0, waited_s=0.2)
    assert playback.underruns == 1
    assert playback.silent_s == pytest.approx(0.2)


def test_a_listener_who_has_heard_everything_waits_for_new_text_and_not_for_the_server() -> None:
    playback = Playback()
    playback.arrived(0.0, 1.0, waited_s=0.4)
    playback.resumed(0.5)
    playback.arrived(1.25, 1.0, waited_s=0.75)
    assert (playback.underruns, playback.silent_s) == (1, 0.25)
    playback.resumed(10.0)
    playback.arrived(10.5, 1.0, waited_s=0.5)
    assert (playback.underruns, playback.silent_s) == (1, 0.25)


def test_a_request_is_heard_when_the_one_before_it_has_been() -> None:
    first = Playback()
    first.arrived(0.0, 5.0, waited_s=0.4)
    second = first.followed()
    second.arrived(0.2, 1.0, waited_s=0.2)
    second.arrived(5.9, 1.0, waited_s=5.7)
    assert second.underruns == 0
    second.arrived(7.5, 1.0, waited_s=1.6)
    assert (second.underruns, second.silent_s, first.underruns) == (1, 0.5, 0)


def test_whoever_interrupts_has_nothing_left_to_hear() -> None:
    first = Playback()
    first.arrived(0.0, 5.0, waited_s=0.4)
    first.interrupted()
    second = first.followed()
    second.arrived(1.0, 1.0, waited_s=0.2)
    second.arrived(2.5, 1.0, waited_s=1.5)
    assert (second.underruns, second.silent_s) == (1, 0.5)


pieces = st.lists(st.tuples(st.floats(0, 5), st.floats(0.01, 5)), max_size=20)


@given(pieces)
def test_the_last_sample_is_heard_when_all_audio_and_all_gaps_are_over(steps: list[tuple[float, float]]) -> None:
    now_s, arrivals = 0.0, []
    for pause_s, audio_s in steps:
        now_s += pause_s
        arrivals.append((now_s, audio_s))
    count, silent_s = underruns(arrivals)
    assert (count == 0) == (silent_s == 0)
    if arrivals:
        heard_s = arrivals[0][0] + sum(audio_s for _, audio_s in arrivals) + silent_s
        played_out_s = 0.0
        for at_s, audio_s in arrivals:
            played_out_s = max(played_out_s, at_s) + audio_s
        assert heard_s == pytest.approx(played_out_s)
