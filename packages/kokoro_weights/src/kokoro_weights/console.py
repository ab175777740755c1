"""How the command line shows what takes long: bars on a terminal, lines elsewhere; always on standard error."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import TaskID

    from kokoro_weights.calibration import Counted
    from kokoro_weights.progress import Progress


@contextmanager
def shown_progress(console: Console) -> Iterator[Progress]:
    """A Progress that draws on `console` while the context is open."""
    if not console.is_terminal:
        yield LineProgress(console)
        return
    columns = (TextColumn("{task.description:<18}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console) as bars:
        yield BarProgress(bars)


class BarProgress:
    """One bar a step."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, step: str, done_bytes: int, total_bytes: int | None) -> None:
        """See `Progress`."""
        if step not in self._tasks:
            self._tasks[step] = self._bars.add_task(step, total=total_bytes)
        self._bars.update(self._tasks[step], completed=done_bytes, total=total_bytes)


class LineProgress:
    """One line when a step begins and one when it is done, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun: set[str] = set()
        self._done: set[str] = set()

    def __call__(self, step: str, done_bytes: int, total_bytes: int | None) -> None:
        """See `Progress`."""
        if step not in self._begun:
            self._begun.add(step)
            size = "" if total_bytes is None else f" ({total_bytes / 1e6:.1f} MB)"
            self._console.print(f"{step}{size} ...", highlight=False)
        if done_bytes == total_bytes and step not in self._done:
            self._done.add(step)
            self._console.print(f"{step}: done", highlight=False)


@contextmanager
def shown_count(console: Console) -> Iterator[Counted]:
    """A Counted that draws on `console` while the context is open."""
    if not console.is_terminal:
        yield CountLines(console)
        return
    columns = (
        *(TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn()),
        *(TextColumn("sentences"), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()),
    )
    with Bars(*columns, console=console) as bars:
        yield CountBar(bars)


class CountBar:
    """One bar for all voices, named for the one in hand."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def __call__(self, voice: str, done: int, total: int) -> None:
        """See `Counted`."""
        if self._task is None:
            self._task = self._bars.add_task(voice, total=total, completed=done)
        self._bars.update(self._task, description=voice, completed=done)


class CountLines:
    """One line when a voice begins and one at the end, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._voice = ""

    def __call__(self, voice: str, done: int, total: int) -> None:
        """See `Counted`."""
        if voice != self._voice or done == total:
            self._voice = voice
            self._console.print(f"{voice}: {done} of {total} sentences", highlight=False)
