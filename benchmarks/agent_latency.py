"""First audio in `bidi` against `batch`, by the model's pace and the answer's length, with and without first clauses.

    uv run python -m benchmarks.agent_latency [--runs 3] [--engine onnx] [--write docs]

The whole local path: a Bedrock that recites at 20, 50 and 100 tokens a second, the agent, the SageMaker stand-in and
the speech server, with a WebSocket caller through AgentCore's stand-in. Answers have 1, 4 and 12 sentences. Runs
alternate between the modes; a caller hangs up at the first audio, and the next one asks once the engine is idle again.
The agent is started twice, once for each setting of `AGENT_FIRST_CLAUSE`. Times are the caller's, from the moment the
question leaves; a ratio is of medians. Fails where `bidi` is above 0.2 of `batch` at 12 sentences or above 0.5 at 4, at
20 tokens a second (without first clauses, which only help). `--write DIR` puts the table into latency.md there and
draws latency.png.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local_cloud.caller import AgentCaller
from local_cloud.language_model import Conversation
from local_cloud.script_model import ScriptModel
from local_cloud.socket_caller import SocketCaller
from local_cloud.stack import LocalStack, StackSettings

# Four of them are 268 characters; the text that AWS's sample was measured with has four in 267.
SENTENCES: Final = (
    "To make a good cup of tea, begin with fresh water.",
    "Bring it to the boil, but take it off the heat as soon as the bubbles rise.",
    "While you wait, warm the pot with a little hot water and empty it again.",
    "Then take one spoon of leaves for each person who sits at the table.",
    "Pour the water over the leaves in one go, and put the lid back on the pot.",
    "Black tea needs about four minutes to be ready, and green tea only two.",
    "If the leaves stay in the pot for longer than that, the tea turns bitter.",
    "Take them out when the time is up, and stir the tea once before you pour.",
    "Add a little milk or a slice of lemon, but never both of them together.",
    "A spoon of honey does more than sugar when somebody has a sore throat.",
    "Keep the rest of the pot warm under a cloth until the second cup is due.",
    "Last of all, sit down with it and let the rest of the day wait a while.",
)
RATES: Final = (20, 50, 100)
LENGTHS: Final = (1, 4, 12)
TARGETS: Final = {(20, 4): 0.5, (20, 12): 0.2}
BEGIN, END = "<!-- latency -->", "<!-- /latency -->"
PATIENCE_S: Final = 120.0
TRIES: Final = 20
COLOURS: Final = {"batch": "#8a8f98", "bidi": "#2a6f97", "bidi, first clause": "#f2a541"}


class Reciter:
    """Recites as many sentences, as fast, as the question says."""

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        length, rate = (int(part) for part in conversation.turns[-1].text.split() if part.isdigit())
        async for token in ScriptModel(" ".join(SENTENCES[:length]), rate).stream(conversation):
            yield token

    async def prepare(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Medians of first audio in seconds, of one pace and length. `clause_batch_s` was measured beside `clause_s`."""

    rate: int
    sentences: int
    batch_s: float
    bidi_s: float
    clause_batch_s: float
    clause_s: float

    @property
    def ratio(self) -> float:
        return self.bidi_s / self.batch_s

    @property
    def clause_ratio(self) -> float:
        return self.clause_s / self.clause_batch_s


async def first_audio_s(caller: AgentCaller, prompt: str, mode: str) -> float:
    """Ask, and hang up at the first audio."""
    heard: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    clock = asyncio.get_running_loop().time
    async with SocketCaller.connect(caller) as socket:
        began_s = clock()

        def on_event(event: dict[str, Any]) -> None:
            if event["type"] == "audio_chunk" and not heard.done():
                heard.set_result(clock() - began_s)

        asking = asyncio.create_task(socket.ask(prompt, mode=mode, on_event=on_event))
        async with asyncio.timeout(PATIENCE_S):
            waiting: set[asyncio.Future[Any]] = {asking, heard}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        if not heard.done():
            raise SystemExit(f"nothing was heard of {prompt!r}: {asking.exception()}")
    return heard.result()


def until_idle(stack: LocalStack) -> None:
    """A word of one's own is spoken once the engine has ended what it was at."""
    body = json.dumps({"text": "Yes.", "stream": False}).encode()
    for _ in range(TRIES):
        try:
            with urllib.request.urlopen(f"{stack.speech.url}/invocations", body, timeout=PATIENCE_S) as answer:
                answer.read()
        except urllib.error.HTTPError as error:  # busy: what was asked for last has not ended
            time.sleep(float(error.headers.get("Retry-After", 1)))
        else:
            return
    raise SystemExit("the speech server does not come to rest")


@contextlib.contextmanager
def silent_step(_what: str) -> Iterator[None]:
    yield


async def measure(engine: str, runs: int, first_clause: bool, logs: Path) -> dict[tuple[int, int, str], float]:
    """Medians by rate, length and mode."""
    os.environ["AGENT_FIRST_CLAUSE"] = str(first_clause)
    times: dict[tuple[int, int, str], list[float]] = {}
    async with LocalStack(StackSettings(model=Reciter(), engine=engine, logs=logs), silent_step) as stack:
        caller = stack.caller()
        await first_audio_s(caller, "Recite 1 sentences at 100 tokens", "bidi")
        for _ in range(runs):
            for rate in RATES:
                for length in LENGTHS:
                    for mode in ("bidi", "batch"):
                        await asyncio.to_thread(until_idle, stack)
                        prompt = f"Recite {length} sentences at {rate} tokens"
                        took_s = await first_audio_s(caller, prompt, mode)
                        times.setdefault((rate, length, mode), []).append(took_s)
            print(f"  first clause {'on' if first_clause else 'off'}: a run is done", flush=True)
    return {key: statistics.median(values) for key, values in times.items()}


def cells(plain: dict[tuple[int, int, str], float], clause: dict[tuple[int, int, str], float]) -> list[Cell]:
    return [
        Cell(
            rate,
            length,
            plain[rate, length, "batch"],
            plain[rate, length, "bidi"],
            clause[rate, length, "batch"],
            clause[rate, length, "bidi"],
        )
        for rate in RATES
        for length in LENGTHS
    ]


def table(measured: Sequence[Cell]) -> str:
    lines = [
        "| tokens a second | sentences | batch | bidi | bidi / batch | bidi, first clause | of its batch |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines.extend(
        f"| {cell.rate} | {cell.sentences} | {cell.batch_s:.2f} s | {cell.bidi_s:.2f} s | **{cell.ratio:.2f}** "
        f"| {cell.clause_s:.2f} s | **{cell.clause_ratio:.2f}** |"
        for cell in measured
    )
    return "\n".join(lines)


def draw(measured: Sequence[Cell], path: Path) -> None:
    """One panel a pace, one group a length, bars from the question to the first audio."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(RATES), sharey=True)
    for rate, panel in zip(RATES, panels, strict=True):
        here = [cell for cell in measured if cell.rate == rate]
        rows = [
            ("batch", [cell.batch_s for cell in here]),
            ("bidi", [cell.bidi_s for cell in here]),
            ("bidi, first clause", [cell.clause_s for cell in here]),
        ]
        for place, (name, values) in enumerate(rows):
            at = [group + (place - 1) * 0.27 for group in range(len(here))]
            bars = panel.bar(at, values, width=0.25, color=COLOURS[name], label=name)
            panel.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
        panel.set_xticks(range(len(here)), [f"{cell.sentences}" for cell in here])
        panel.set_xlabel("sentences in the answer")
        panel.set_title(f"{rate} tokens a second", fontsize=11)
        panel.grid(axis="y", color="#e5e7eb")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds to the first audio")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)


def write(directory: Path, measured: Sequence[Cell], about: str) -> None:
    """Put the table into latency.md, between this benchmark's marks, and draw latency.png."""
    path = directory / "latency.md"
    document = path.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{path} has no {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n{about}\n\n{table(measured)}\n{END}{after}", encoding="utf-8")
    draw(measured, directory / "latency.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", default="onnx", help="of the speech server: onnx or tone")
    parser.add_argument("--write", type=Path, metavar="DIR", help="the directory of latency.md and latency.png")
    arguments = parser.parse_args()
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as logs:
        plain = asyncio.run(measure(arguments.engine, arguments.runs, False, Path(logs)))
        clause = asyncio.run(measure(arguments.engine, arguments.runs, True, Path(logs)))
    loads.append(os.getloadavg()[0])
    measured = cells(plain, clause)
    about = (
        f"Medians of {arguments.runs} runs, engine `{arguments.engine}`, {len(os.sched_getaffinity(0))} cores, load "
        f"average {loads[0]:.1f} before and {loads[1]:.1f} after."
    )
    print(about)
    print(table(measured))
    if arguments.write is not None:
        write(arguments.write, measured, about)
    missed = [
        f"{cell.ratio:.2f} at {cell.sentences} sentences (target {target})"
        for cell in measured
        if (target := TARGETS.get((cell.rate, cell.sentences))) is not None and cell.ratio > target
    ]
    if missed:
        raise SystemExit("bidi is heard too late: " + ", ".join(missed))


if __name__ == "__main__":
    main()
