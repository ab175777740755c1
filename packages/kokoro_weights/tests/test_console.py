"""What takes long is a bar on a terminal and lines elsewhere."""

from __future__ import annotations

import io

from kokoro_weights.console import shown_count, shown_progress
from rich.console import Console


def show(*, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with shown_progress(console) as progress:
        for done_bytes in (0, 1_000_000, 2_000_000):
            progress("join the model", done_bytes, 2_000_000)
        progress("join the model", 2_000_000, 2_000_000)
        progress("fetch the model", 0, None)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_without_a_terminal_a_step_is_a_line_when_it_begins_and_one_when_it_is_done() -> None:
    expected = "join the model (2.0 MB) ...\njoin the model: done\nfetch the model ...\n"
    assert show(terminal=False) == expected


def test_on_a_terminal_a_step_is_a_bar() -> None:
    shown = show(terminal=True)
    assert "\x1b[" in shown
    assert "2.0/2.0 MB" in shown
    assert "fetch the model" in shown


def count(*, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with shown_count(console) as counted:
        for done in range(5):
            counted("af_heart" if done < 3 else "bm_george", done, 4)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_without_a_terminal_a_voice_is_a_line_when_it_begins() -> None:
    expected = "af_heart: 0 of 4 sentences\nbm_george: 3 of 4 sentences\nbm_george: 4 of 4 sentences\n"
    assert count(terminal=False) == expected


def test_on_a_terminal_sentences_are_counted_on_a_bar_and_the_time_left_is_told() -> None:
    shown = count(terminal=True)
    assert "bm_george" in shown
    assert "4/4" in shown
    assert "left:" in shown
