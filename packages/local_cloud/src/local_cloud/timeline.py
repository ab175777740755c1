"""A picture of one or two answers: when each sentence was written, when it was made, and when a listener hears it.

One row a sentence, one panel a mode, one time axis for both, so that the eye compares what the ratio says. A listener
starts with the first audio and hears the sentences one after the other, later where one is not there yet.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local_cloud.answer import Answer, SentenceTimes

WRITTEN = "#8a8f98"
MADE = "#f2a541"
HEARD = "#2a6f97"
LABEL_CHARS = 46
MAX_ROWS = 24  # a longer answer is cut; the picture says so


def draw_timeline(answers: Sequence[Answer], path: Path, *, title: str) -> None:
    """Write a PNG. Needs at least one answer; answers without sentences give an empty panel."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = [min(len(answer.sentences), MAX_ROWS) or 1 for answer in answers]
    figure = Figure(figsize=(11, 1.9 + 0.34 * sum(rows) + 0.55 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(answers), 1, sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    for answer, panel in zip(answers, panels, strict=True):
        _draw_panel(panel, answer)
    panels[-1].set_xlabel("seconds after the question")
    panels[-1].set_xlim(left=0)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    names = {WRITTEN: "the model writes it", MADE: "it is with the speech server", HEARD: "it is heard"}
    handles = [Patch(color=color, label=name) for color, name in names.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def heard_spans_s(sentences: Sequence[SentenceTimes]) -> list[tuple[float, float] | None]:
    """For each sentence, from when to when a listener hears it, in seconds after the question."""
    spans: list[tuple[float, float] | None] = []
    free_s = 0.0
    for sentence in sentences:
        if sentence.heard_ms is None or not sentence.audio_s:
            spans.append(None)
            continue
        start_s = max(free_s, sentence.heard_ms / 1000)
        free_s = start_s + sentence.audio_s
        spans.append((start_s, free_s))
    return spans


def _draw_panel(panel: Any, answer: Answer) -> None:
    sentences = answer.sentences[:MAX_ROWS]
    before_s = 0.0
    for row, (sentence, heard) in enumerate(zip(sentences, heard_spans_s(sentences), strict=True)):
        written_s = sentence.written_ms / 1000
        panel.barh(row, written_s - before_s, left=before_s, height=0.62, color=WRITTEN)
        before_s = written_s
        if sentence.heard_ms is not None and sentence.sent_ms is not None:
            sent_s, made_s = sentence.sent_ms / 1000, (sentence.done_ms or sentence.heard_ms) / 1000
            panel.barh(row - 0.16, made_s - sent_s, left=sent_s, height=0.3, color=MADE)
        if heard is not None:
            panel.barh(row + 0.16, heard[1] - heard[0], left=heard[0], height=0.3, color=HEARD)
    if answer.first_audio_ms is not None:
        first_s = answer.first_audio_ms / 1000
        panel.axvline(first_s, color=HEARD, linewidth=1, linestyle=":")
        panel.annotate(
            f"first audio {first_s:.2f} s",
            xy=(first_s, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, 2),
            textcoords="offset points",
            va="bottom",
            color=HEARD,
            fontsize=9,
        )
    panel.set_yticks(range(len(sentences)), [_label(sentence.text) for sentence in sentences], fontsize=8)
    panel.set_ylim(len(sentences) - 0.5 if sentences else 0.5, -0.5)
    hidden = len(answer.sentences) - len(sentences)
    more = f" (first {MAX_ROWS} sentences; {hidden} more)" if hidden else ""
    panel.set_title(f"{answer.mode}{more}", loc="left", pad=18)  # above the first audio, which may be early
    panel.grid(axis="x", color="#e5e7eb")
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="y", length=0)


def _label(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LABEL_CHARS else f"{line[: LABEL_CHARS - 1]}…"
