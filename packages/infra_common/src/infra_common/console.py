"""What a person sees, and what a script reads.

Results go to standard output, everything else to standard error, so that a pipe gets results alone. On a terminal a
running step moves; elsewhere each is a plain line. With JSON, standard output holds one document and nothing else.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console as RichConsole
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from infra_common.errors import UsageError

if TYPE_CHECKING:
    from infra_common.errors import InfraError

PIPE_COLUMNS: Final = 140
Detail = Callable[[str], None]
BytesDone = Callable[[int], None]


class Console:
    """`program` begins every error line. `assume_yes` answers questions; without a terminal nobody else can."""

    def __init__(
        self, program: str, *, as_json: bool = False, no_color: bool = False, assume_yes: bool = False
    ) -> None:
        self._program = program
        self.as_json = as_json
        self.assume_yes = assume_yes
        self.out = RichConsole(highlight=False, emoji=False, no_color=no_color or None)
        self.err = RichConsole(stderr=True, highlight=False, emoji=False, no_color=no_color or None)
        for console in (self.out, self.err):
            if not console.is_terminal:
                console.width = PIPE_COLUMNS

    @contextmanager
    def step(self, what: str) -> Iterator[Detail]:
        """Shows `what` while it runs and how long it took; where it fails, the error speaks.

        Gives a function that says how far it is. Off a terminal only changes of that are written, one line each.
        """
        start = time.monotonic()
        if self.err.is_terminal:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # not for --help

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[at]}"),
            )
            with Progress(*columns, console=self.err, transient=True) as bar:
                task = bar.add_task(escape(what), total=None, at="")
                yield lambda at: bar.update(task, at=escape(at))
        else:
            self.note(f"{what} ...")
            yield _Changes(lambda at: self.note(f"  {at}"))
        elapsed_s = time.monotonic() - start
        self.err.print(Text.assemble(("✓ ", "green"), what, (f"  {elapsed_s:.1f} s", "dim")), soft_wrap=True)

    @contextmanager
    def transfer(self, what: str, total_bytes: int) -> Iterator[BytesDone]:
        """Shows how many bytes have gone; gives a function that adds to them, from any thread."""
        if self.err.is_terminal:
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(30), DownloadColumn(), TimeElapsedColumn())
            with Progress(*columns, console=self.err, transient=True) as bar:
                task = bar.add_task(escape(what), total=total_bytes)
                yield lambda count: bar.update(task, advance=count)
        else:
            yield _Tenths(what, total_bytes, self.note)
        self.err.print(Text.assemble(("✓ ", "green"), what, (f"  {total_bytes / 1e6:.1f} MB", "dim")), soft_wrap=True)

    def line(self, text: str = "", style: str = "") -> None:
        """One line of the result; not with JSON."""
        if not self.as_json:
            self.out.print(Text(text, style), soft_wrap=True)

    def note(self, text: str) -> None:
        """One line beside the result."""
        self.err.print(Text(text, "dim"), soft_wrap=True)

    def warn(self, text: str) -> None:
        """One line that should be read."""
        self.err.print(Text.assemble(("! ", "yellow"), text), soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, fixed: int = 1) -> None:
        """A table of the result; the first `fixed` columns are never wrapped. Not with JSON."""
        if self.as_json:
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left")
        for index, column in enumerate(columns):
            table.add_column(column, no_wrap=index < fixed, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.out.print(table)

    def result(self, value: Any) -> None:
        """The result as a document; only with JSON."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")

    def error(self, error: InfraError) -> None:
        """One line that says what is wrong, and one with what helps. With JSON also a document."""
        message = " ".join(str(error).split())
        self.err.print(Text.assemble((f"{self._program}: ", "bold red"), message), soft_wrap=True)
        if error.fix:
            self.err.print(Text.assemble(("  fix: ", "bold"), error.fix), soft_wrap=True)
        if self.as_json:
            self.result({"error": {"kind": type(error).__name__, "message": message, "fix": error.fix}})

    def confirm(self, question: str, word: str) -> None:
        """Go on only if a person types `word`, or has said --yes before. Raises UsageError."""
        if self.assume_yes:
            return
        if not sys.stdin.isatty():
            raise UsageError(f"{question} Nobody is at a terminal to say so", fix="add --yes")
        self.err.print(Text(question), soft_wrap=True)
        self.err.print(Text.assemble("Type ", (word, "bold"), " to go on: "), end="")
        if sys.stdin.readline().strip() != word:
            raise UsageError(f"not confirmed: expected {word!r}; nothing was done")


class _Changes:
    """Passes on what differs from the last thing said."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = ""

    def __call__(self, at: str) -> None:
        if at and at != self._last:
            self._last = at
            self._say(at)


class _Tenths:
    """A line at the beginning and at every tenth, for logs."""

    def __init__(self, what: str, total_bytes: int, say: Callable[[str], None]) -> None:
        self._what = what
        self._total = total_bytes
        self._say = say
        self._done = 0
        self._tenth = 0
        self._lock = threading.Lock()
        say(f"{what} ({total_bytes / 1e6:.1f} MB) ...")

    def __call__(self, count: int) -> None:
        with self._lock:
            self._done += count
            tenth = 10 * self._done // self._total if self._total else 10
            if tenth > self._tenth and tenth < 10:
                self._tenth = tenth
                self._say(f"  {self._what}: {tenth}0 %")
