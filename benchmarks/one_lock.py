"""First audio for four listeners at once: our server against the same server with one lock around each message.

    uv run python -m benchmarks.one_lock [--runs 1] [--texts 3] [--listeners 4] [--engine onnx] [--write]
    uv run python -m benchmarks.one_lock --simulate [--texts 3] [--listeners 4] [--write]

Real speech on this machine: two processes with the same engine, weights, threads, front end, encoder and ASGI stack
(`rig/one_lock_server.py` says what the lock does), one of which works while the other has nothing to do. In a run each
listener hears `--texts` texts of 267 characters in four sentences; it plays in real time, and asks for its next text
when it has heard the last one. The first one starts at once and the others at random moments within the length of a
text; both servers get the same texts in the same order at the same starts, and take turns in going first. A run takes
80 to 100 s for each server.

Four listeners of speech that takes 0.25 s a second to make are all that an engine can do; here it takes 0.3 to 0.4, so
somebody has to wait, and the question is who waits for what. Printed: first audio (median and 95th percentile of a
run's texts), the silence within an answer where the next sentence was not made in time, and how long a text took from
asking to its end. The ratios are of run by run, then their median, lowest and highest.

`--simulate` does the same with an engine that is only a number, its real-time factor, in a second and without noise
(`rig/simulation.py`): it shows what to expect of a machine, and what of a measurement is the machine's.

`--write` puts the figures into benchmarks/results/one_lock.json and the table into docs/fairness.md. For those:
`--runs 5 --write` on a quiet machine, 15 minutes. Fails where the ratio of the 95th percentiles is above 0.5.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from .rig.listener import TEXTS, Heard, listen
from .rig.report import ROOT, Machine, Spread, percentile, put_blocks, save
from .rig.servers import Server, engine_s, running, speech_container
from .rig.simulation import with_one_lock, with_scheduler

TARGET_RATIO: Final = 0.5
DOCUMENT: Final = ROOT / "docs" / "fairness.md"
SIMULATED_FACTORS: Final = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SIMULATED_RUNS: Final = 100
TEXT_S: Final = 17.0
"""About what a text lasts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the listeners of one run do: when each starts, in seconds, and its texts."""

    starts_s: tuple[float, ...]
    texts: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, run: int, listeners: int, texts: int) -> "Plan":
        """The same for the same run."""
        chance = random.Random(run)
        starts_s = (0.0, *sorted(chance.uniform(0, TEXT_S) for _ in range(listeners - 1)))
        return cls(starts_s, tuple(tuple(chance.choices(TEXTS, k=texts)) for _ in range(listeners)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the listeners of one server heard in one run, in seconds.

    `cpu_s`: of the server's processor time; `engine_s`: for how long its engine worked.
    """

    first_audio_median_s: float
    first_audio_p95_s: float
    silence_mean_s: float
    took_median_s: float
    refused: int
    audio_s: float
    cpu_s: float
    engine_s: float
    heard: tuple[Heard, ...]

    @property
    def real_time_factor(self) -> float:
        """Of the engine, while it worked."""
        return self.engine_s / self.audio_s

    @classmethod
    def of(cls, heard: Sequence[Heard], cpu_s: float, engine_s: float) -> "Outcome":
        return cls(
            first_audio_median_s=statistics.median(each.first_audio_s for each in heard),
            first_audio_p95_s=p95_s(heard),
            silence_mean_s=statistics.mean(each.silence_s for each in heard),
            took_median_s=statistics.median(each.took_s for each in heard),
            refused=sum(each.refused for each in heard),
            audio_s=sum(each.audio_s for each in heard),
            cpu_s=cpu_s,
            engine_s=engine_s,
            heard=tuple(heard),
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """Both servers with the same plan."""

    run: int
    ours: Outcome
    lock: Outcome

    @property
    def median_ratio(self) -> float:
        return self.ours.first_audio_median_s / self.lock.first_audio_median_s

    @property
    def p95_ratio(self) -> float:
        return self.ours.first_audio_p95_s / self.lock.first_audio_p95_s


async def measure(server: Server, plan: Plan) -> Outcome:
    """One run on one server."""
    cpu_s, worked_s = server.cpu_s, await engine_s(server.url)
    began_s = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        listening = [
            group.create_task(listen(number, server.session_url, texts, began_s=began_s, starts_s=starts_s))
            for number, (starts_s, texts) in enumerate(zip(plan.starts_s, plan.texts, strict=True))
        ]
    heard = [each for task in listening for each in task.result()]
    cpu_s, worked_s = server.cpu_s - cpu_s, await engine_s(server.url) - worked_s
    return Outcome.of(sorted(heard, key=lambda each: each.asked_s), cpu_s, worked_s)


async def compare(runs: int, listeners: int, texts: int, engine: str) -> list[Pair]:
    """All runs, printed as they come."""
    lock_command = [sys.executable, "-m", "benchmarks.rig.one_lock_server", "--engine", engine]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    pairs: list[Pair] = []
    async with running(speech_container(engine)) as ours, running(lock_command, environment) as lock:
        figures = f"{'median s':>9} {'p95 s':>7} {'silence s':>10} {'took s':>7} {'busy':>5} {'RTF':>5} {'CPU s/s':>8}"
        print(f"{'run':>3} {'server':>9} {figures}")
        for run in range(1, runs + 1):
            plan = Plan.of(run, listeners, texts)
            outcomes: dict[str, Outcome] = {}
            order = {"ours": ours, "one lock": lock}
            for name in order if run % 2 else reversed(order):
                outcomes[name] = await measure(order[name], plan)
                print(row(run, name, outcomes[name]), flush=True)
            pairs.append(Pair(run, outcomes["ours"], outcomes["one lock"]))
            print(f"{run:>3} {'ratio':>9} {pairs[-1].median_ratio:>9.2f} {pairs[-1].p95_ratio:>7.2f}", flush=True)
    return pairs


def simulate(listeners: int, texts: int) -> str:
    """Both servers for engines of several speeds, all runs of a speed together, and the ratios of the single runs."""
    lines = [
        "| real-time factor | scheduler: median | p95 | silence | one lock: median | p95 | silence | ratio of p95 |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for factor in SIMULATED_FACTORS:
        ratios, ours, lock = [], [], []
        for run in range(1, SIMULATED_RUNS + 1):
            plan = Plan.of(run, listeners, texts)
            pair = [serve(plan.starts_s, plan.texts, factor) for serve in (with_scheduler, with_one_lock)]
            ratios.append(p95_s(pair[0]) / p95_s(pair[1]))
            ours += pair[0]
            lock += pair[1]
        cells = (
            f"{statistics.median(each.first_audio_s for each in heard):.1f} | {p95_s(heard):.1f}"
            f" | {statistics.mean(each.silence_s for each in heard):.1f}"
            for heard in (ours, lock)
        )
        low, high = percentile(ratios, 0.05), percentile(ratios, 0.95)
        lines.append(
            f"| {factor:.2f} | {' | '.join(cells)} | **{statistics.median(ratios):.2f}** ({low:.2f} to {high:.2f}) |"
        )
    return "\n".join(lines)


def p95_s(heard: Sequence[Heard]) -> float:
    """Of first audio."""
    return percentile([each.first_audio_s for each in heard], 0.95)


def row(run: int, name: str, outcome: Outcome) -> str:
    """One server's run as it is printed."""
    figures = f"{outcome.first_audio_median_s:>9.2f} {outcome.first_audio_p95_s:>7.2f} {outcome.silence_mean_s:>10.2f}"
    rest = f"{outcome.took_median_s:>7.1f} {outcome.refused:>5} {outcome.real_time_factor:>5.2f}"
    return f"{run:>3} {name:>9} {figures} {rest} {outcome.cpu_s / outcome.audio_s:>8.2f}"


def table(pairs: Sequence[Pair]) -> str:
    """Medians over the runs, and the ratios with their spread."""

    def line(name: str, value: Callable[[Outcome], float], *, unit: str = " s", digits: int = 1, ratio: bool) -> str:
        servers = ([pair.ours for pair in pairs], [pair.lock for pair in pairs])
        medians = [statistics.median(map(value, outcomes)) for outcomes in servers]
        shown = " | ".join(f"{each:.{digits}f}{unit}" for each in medians)
        spread = Spread.of([value(pair.ours) / value(pair.lock) for pair in pairs]) if ratio else None
        ratios = "" if spread is None else f"**{spread.median:.2f}** ({spread.low:.2f} to {spread.high:.2f})"
        return f"| {name} | {shown} | {ratios} |"

    return "\n".join(
        (
            "| | scheduler | one lock | ratio |",
            "|--|--:|--:|--:|",
            line("first audio, median", lambda one: one.first_audio_median_s, ratio=True),
            line("first audio, p95", lambda one: one.first_audio_p95_s, ratio=True),
            line("silence within an answer, mean", lambda one: one.silence_mean_s, ratio=False),
            line("from asking to the last word, median", lambda one: one.took_median_s, ratio=True),
            line("told `busy`", lambda one: one.refused, unit="", digits=0, ratio=False),
            line("real-time factor of the engine", lambda one: one.real_time_factor, unit="", digits=2, ratio=False),
        )
    )


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--texts", type=int, default=3, help="texts that each listener hears in a run")
    parser.add_argument("--listeners", type=int, default=4)
    parser.add_argument("--engine", default="onnx")
    parser.add_argument("--simulate", action="store_true", help="engines of several speeds that are only numbers")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results and docs/fairness.md")
    arguments = parser.parse_args()
    if arguments.simulate:
        simulated = simulate(arguments.listeners, arguments.texts)
        print(simulated)
        if arguments.write:
            put_blocks(DOCUMENT, {"Speeds": simulated}, "benchmarks/one_lock.py")
        return
    machine = Machine.here()
    print(f"{arguments.listeners} listeners, engine {arguments.engine}, {machine}")
    pairs = asyncio.run(compare(arguments.runs, arguments.listeners, arguments.texts, arguments.engine))
    made = table(pairs)
    print(f"\n{made}")
    p95_ratio = Spread.of([pair.p95_ratio for pair in pairs])
    if arguments.write:
        ratios = {
            "first_audio_median": asdict(Spread.of([pair.median_ratio for pair in pairs])),
            "first_audio_p95": asdict(p95_ratio),
        }
        settings = {name: getattr(arguments, name) for name in ("runs", "texts", "listeners", "engine")}
        runs = [asdict(pair) for pair in pairs]
        print(f"\n{save('one_lock', machine, {'settings': settings, 'ratios': ratios, 'runs': runs})}")
        put_blocks(DOCUMENT, {"Measured": f"{made}\n\n{machine}."}, "benchmarks/one_lock.py")
    if p95_ratio.median > TARGET_RATIO:
        raise SystemExit(f"the ratio of the 95th percentiles is {p95_ratio.median:.2f}, more than {TARGET_RATIO}")


if __name__ == "__main__":
    main()
