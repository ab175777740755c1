"""What a person sees: steps with their time, tables, and one line for an error.

On a terminal a running step has a moving bar and says how far it is; into a pipe or a log everything is plain lines.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console as RichConsole
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from local_cloud.answer import Answer, SentenceTimes
from local_cloud.comparison import Comparison

PIPE_COLUMNS = 120  # where nobody's window says how wide a table may be


class Console:
    """Standard output for results, standard error for progress and errors, so that a pipe gets results alone."""

    def __init__(self) -> None:
        self.out = RichConsole(highlight=False)
        self.err = RichConsole(stderr=True, highlight=False)
        for console in (self.out, self.err):
            if not console.is_terminal:
                console.width = PIPE_COLUMNS

    @contextmanager
    def step(self, what: str) -> Iterator[Callable[[str], None]]:
        """Shows `what` while it runs and how long it took; says nothing more when it fails, the error does.

        Gives a function that says how far it is, from any thread; only a terminal shows that.
        """
        start = time.perf_counter()
        if self.err.is_terminal:
            columns = (
                TextColumn("  {task.description}"),
                BarColumn(24),
                TimeElapsedColumn(),
                TextColumn("{task.fields[detail]}"),
            )
            with Progress(*columns, console=self.err, transient=True) as bar:
                task = bar.add_task(escape(what), total=None, detail="")
                yield lambda detail: bar.update(task, detail=escape(detail))
        else:
            yield lambda _detail: None
        elapsed_s = time.perf_counter() - start
        self.err.print(Text.assemble(("✓ ", "green"), what, (f"  {elapsed_s:.1f} s", "dim")), soft_wrap=True)

    def line(self, text: str, style: str = "") -> None:
        """One line of the result."""
        self.out.print(Text(text, style), soft_wrap=True)

    def note(self, text: str) -> None:
        """One line beside the result."""
        self.err.print(Text(text, "dim"), soft_wrap=True)

    def error(self, message: str) -> None:
        """One line, whatever the message holds."""
        self.err.print(Text.assemble(("voice-local: ", "bold red"), " ".join(message.split())), soft_wrap=True)

    def comparison(self, comparison: Comparison) -> None:
        """The table of the modes, and their ratio where both were asked."""
        table = _table("mode", "first text", "first audio", "total", "audio", "runs")
        for times in comparison.modes:
            first_text, first_audio = _seconds(times.first_text_ms), _seconds(times.first_audio_ms)
            total, audio = _seconds(times.total_ms), f"{times.audio_s:.1f} s"
            table.add_row(times.mode, first_text, first_audio, total, audio, str(times.runs))
        self.out.print(table)
        if comparison.first_audio_ratio is not None:
            ratio = comparison.first_audio_ratio
            runs = min(times.runs for times in comparison.modes)
            of = f"medians of {runs} runs" if runs > 1 else "one run each"
            self.line(f"first audio, bidi / batch: {ratio:.2f} ({of}): heard {1 / ratio:.1f} times sooner", "bold")

    def sentences(self, answer: Answer) -> None:
        """When each sentence was written, sent, first heard and done, by the agent's clock."""
        table = _table("", f"sentence ({answer.mode})", "written", "sent", "first heard", "done", "audio")
        for number, sentence in enumerate(answer.sentences, 1):
            table.add_row(str(number), Text(" ".join(sentence.text.split())), *_moments(sentence))
        self.out.print(table)


def _moments(sentence: SentenceTimes) -> Sequence[str]:
    moments = (sentence.written_ms, sentence.sent_ms, sentence.heard_ms, sentence.done_ms)
    return [*map(_seconds, moments), "–" if sentence.audio_s is None else f"{sentence.audio_s:.1f} s"]


def _table(first: str, *columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for index, column in enumerate(columns):
        is_text = index == 0 and not first
        table.add_column(column, justify="left" if is_text else "right", no_wrap=not is_text)
    return table


def _seconds(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else f"{milliseconds / 1000:.2f} s"
