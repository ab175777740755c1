"""What padding costs the torch engine on a device, in the batches that the scheduler really forms.

    uv run python -m benchmarks.padding [--seeds 5] [--listeners 1,10,30,60,150,300] [--out docs]

The simulation of fairness.py (the server's scheduler on a clock that jumps from event to event, nothing sleeps), with
sentences of 3 to 40 words and an engine whose steps take as long as what it pads them to. Each step is cut into passes
by the engine's own rule. The cost is the frames worked on, over the frames of audio, less one: `rounded` is what the
buckets alone cost, `in one pass` what the batch as it comes would cost. Prints the table, and fails where the mean of a
mix is more than 20 %. `--out` also puts it into batching.md, between its marks.
"""

import argparse
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from speech_container.batched.buckets import frame_bucket, passes
from speech_container.engine import FRAME_SAMPLES, SAMPLE_RATE_HZ

from .fairness import FULL_BATCH_S, MAX_BATCH, SENTENCE_S, SOLO_S, Request, serve_with_scheduler
from .rig.report import put_blocks

FRAMES_A_SECOND: Final = SAMPLE_RATE_HZ / FRAME_SAMPLES
SHORTEST_WORDS: Final = 3
LONGEST_WORDS: Final = 40
SENTENCES: Final = 4  # of an answer
PAUSE_S: Final = 2.0  # between hearing an answer and asking again
SIMULATED_S: Final = 60.0
MOST: Final = 0.20
"""The mean cost of a mix that is still taken."""

_MEAN_FRAMES: Final = statistics.mean(SENTENCE_S) * FRAMES_A_SECOND
FRAME_S: Final = (FULL_BATCH_S - SOLO_S) / ((MAX_BATCH - 1) * _MEAN_FRAMES)
STEP_S: Final = SOLO_S - FRAME_S * _MEAN_FRAMES
"""What fairness.py takes one sentence and eight to cost, as a cost of the step and one of each frame."""


def any_length(chance: random.Random) -> int:
    """3 to 40 words, each as often."""
    return chance.randint(SHORTEST_WORDS, LONGEST_WORDS)


def as_spoken(chance: random.Random) -> int:
    """3 to 40 words, half of them up to 13."""
    while True:
        words = round(chance.lognormvariate(math.log(13), 0.6))
        if SHORTEST_WORDS <= words <= LONGEST_WORDS:
            return words


MIXES: Final[dict[str, Callable[[random.Random], int]]] = {"as spoken": as_spoken, "any length": any_length}


def seconds(words: int) -> float:
    """How long a sentence lasts: what 5, 14, 25 and 40 words of Kokoro's took lies within a tenth of it."""
    return 0.7 + 0.31 * words


@dataclass(slots=True)
class Padding:
    """An engine that counts: see the module. `frames`: of audio; the others: of tensors."""

    steps: int = 0
    sentences: int = 0
    passes: int = 0
    frames: int = 0
    rounded: int = 0
    padded: int = 0
    in_one_pass: int = 0
    widest: int = field(default=0)

    def __call__(self, audio_s: Sequence[float]) -> float:
        """How long the step takes."""
        frames = [round(length_s * FRAMES_A_SECOND) for length_s in audio_s]
        found = passes(frames)
        padded = sum(each.padded_frames for each in found)
        self.steps += 1
        self.sentences += len(frames)
        self.passes += len(found)
        self.frames += sum(frames)
        self.rounded += sum(map(frame_bucket, frames))
        self.padded += padded
        self.in_one_pass += len(frames) * frame_bucket(max(frames))
        self.widest = max(self.widest, *(each.padded_frames for each in found))
        return STEP_S + FRAME_S * padded

    @property
    def cost(self) -> float:
        """What padding adds, as a share of the audio."""
        return self.padded / self.frames - 1


def arrivals(words: Callable[[random.Random], int], listeners: int, seed: int) -> list[Request]:
    """Each listener hears an answer of four sentences to its end, and asks again."""
    chance = random.Random(seed)
    requests = []
    for listener in range(listeners):
        at_s = chance.uniform(0, SENTENCES * seconds(13))
        while at_s < SIMULATED_S:
            sentences_s = tuple(seconds(words(chance)) for _ in range(SENTENCES))
            requests.append(Request(at_s, listener, sentences_s))
            at_s += sum(sentences_s) + PAUSE_S
    return sorted(requests, key=lambda request: request.arrives_s)


def measure(words: Callable[[random.Random], int], listeners: int, seeds: int) -> Padding:
    """The steps of all seeds together."""
    padding = Padding()
    for seed in range(seeds):
        serve_with_scheduler(arrivals(words, listeners, seed), engine=padding)
    return padding


def table(rows: dict[tuple[str, int], Padding]) -> str:
    """A row for each mix and number of listeners."""
    lines = [
        "| lengths | listeners | sentences a step | passes a step | rounded | **padding** | in one pass |",
        "|--|--:|--:|--:|--:|--:|--:|",
    ]
    for (mix, listeners), padding in rows.items():
        cells = [
            mix,
            f"{listeners}",
            f"{padding.sentences / padding.steps:.2f}",
            f"{padding.passes / padding.steps:.2f}",
            f"{padding.rounded / padding.frames - 1:.1%}",
            f"**{padding.cost:.1%}**",
            f"{padding.in_one_pass / padding.frames - 1:.1%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Simulate, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--listeners", default="1,10,30,60,150,300", help="numbers with commas between them")
    parser.add_argument("--out", type=Path, help="the folder of batching.md")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.listeners.split(",")]
    rows = {(name, count): measure(mix, count, arguments.seeds) for name, mix in MIXES.items() for count in counts}
    print(table(rows))
    means = {name: statistics.mean(rows[name, count].cost for count in counts) for name in MIXES}
    print("\nmean: " + ", ".join(f"{name} {mean:.1%}" for name, mean in means.items()))
    if arguments.out is not None:
        put_blocks(arguments.out / "batching.md", {"Padding": table(rows)}, "benchmarks/padding.py")
    if max(means.values()) > MOST:
        raise SystemExit(f"padding costs {max(means.values()):.1%} in the mean, more than {MOST:.0%}")


if __name__ == "__main__":
    main()
