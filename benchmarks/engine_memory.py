"""Whether an engine's memory levels off over utterances of up to 2,000 different (tokens, speed) shapes.

    uv run python -m benchmarks.engine_memory --engine openvino [--utterances 2000] [--write docs]

Also for onnx, and in the torch environment for torch. No two utterances have the same number of tokens and the same
speed; they are short, in an order that is mixed but the same each time, after the longest one. An engine that keeps
something for every shape grows to the end; one that levels off has its highest memory well before. The exit code is 1
where the last half went more than 3 % beyond the first. `--write DIR` puts the curve into benchmarks/results, and a
table of all curves there into DIR/batching.md.
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import psutil
from speech_container.engine import Engine, Utterance
from speech_container.settings import ENGINE_NAMES, Settings
from speech_container.studio import open_studio
from speech_container.voices import VoiceBook

from benchmarks.rig.report import RESULTS, Machine, put_blocks, save

SCRIPT = "benchmarks/engine_memory.py"
VOICE = "af_heart"
MEBIBYTE = 1 << 20
MAX_TOKENS = 80
SPEEDS = 25
POINTS = 40
"""How many points the curve has."""
GROWTH = 0.03
FIRST_ID, IDS = 43, 60
"""Token ids of letters: sounds that are neither a pause nor a stop."""


def shapes(count: int) -> list[tuple[int, float]]:
    """Tokens and speed of each utterance, the longest first."""
    speeds = [round(1.2 + 0.8 * step / (SPEEDS - 1), 3) for step in range(SPEEDS)]
    every = [(tokens, speed) for tokens in range(1, MAX_TOKENS + 1) for speed in speeds]
    if count > len(every):
        raise SystemExit(f"there are {len(every)} shapes; {count} utterances were asked for")
    longest = max(every, key=lambda shape: (shape[0], -shape[1]))
    every.remove(longest)
    random.Random(5).shuffle(every)
    return [longest, *every][:count]


def run(engine: Engine, voices: VoiceBook, count: int) -> list[tuple[int, float]]:
    """(utterances, resident MiB) at each point."""
    process, curve = psutil.Process(), []
    every = max(1, count // POINTS)
    lengths: set[int] = set()
    began_s, cpu_s, audio_s = time.monotonic(), time.process_time(), 0.0
    for number, (tokens, speed) in enumerate(shapes(count), 1):
        ids = tuple(FIRST_ID + (number + place) % IDS for place in range(tokens))
        (waveform,) = engine.synthesize([Utterance(ids, voices.style(VOICE, tokens), speed)])
        lengths.add(len(waveform.samples))
        audio_s += waveform.duration_s
        if number % every == 0:
            curve.append((number, round(process.memory_info().rss / MEBIBYTE, 1)))
            print(f"{number:>6} utterances, {len(lengths):>4} lengths of audio: {curve[-1][1]:>7.0f} MiB", flush=True)
    took_s, took_cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
    print(f"{audio_s:.0f} s of audio; a second of it took {took_s / audio_s:.2f} s, {took_cpu_s / audio_s:.2f} CPU-s")
    return curve


def growth(curve: list[tuple[int, float]]) -> float:
    """How much higher the last half went than the first half after its first tenth, as a fraction."""
    half = len(curve) // 2
    early = max(mebibytes for _, mebibytes in curve[len(curve) // 10 : half])
    return max(mebibytes for _, mebibytes in curve[half:]) / early - 1


def memory_table() -> str:
    """Of every engine that was measured, in Markdown."""
    lines = ["| engine | utterances | MiB after 5 % | half | all | growth |", "|---|--:|--:|--:|--:|--:|"]
    for name in ENGINE_NAMES:
        path = RESULTS / f"engine_memory_{name}.json"
        if path.is_file():
            result = json.loads(path.read_text("utf-8"))
            curve = [mebibytes for _, mebibytes in result["resident_mib"]]
            places = (len(curve) // 20 - 1, len(curve) // 2 - 1, -1)
            points = " | ".join(f"{curve[place]:,.0f}" for place in places)
            lines.append(f"| `{name}` | {result['utterances']:,} | {points} | {result['growth']:+.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINE_NAMES, default="auto")
    parser.add_argument("--utterances", type=int, default=200)
    parser.add_argument("--write", type=Path, metavar="DIR", help="the directory of batching.md")
    arguments = parser.parse_args()
    machine = Machine.here()
    studio = open_studio(Settings(engine=arguments.engine))
    studio.engine.load()
    name = studio.engine.name
    print(f"engine {name}, {machine}")
    curve = run(studio.engine, studio.narrator.voices, arguments.utterances)
    grew = growth(curve)
    print(f"the last half went {grew:+.1%} beyond the first: {'it grows' if grew > GROWTH else 'it levels off'}")
    if arguments.write is not None:
        result = {"utterances": arguments.utterances, "growth": round(grew, 4), "resident_mib": curve}
        save(f"engine_memory_{name}", machine, result)
        put_blocks(arguments.write / "batching.md", {"Memory": memory_table()}, SCRIPT)
    sys.exit(1 if grew > GROWTH else 0)


if __name__ == "__main__":
    main()
