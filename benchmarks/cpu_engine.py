"""The CPU engines side by side: real-time factor, first audio, and how near they come to the float32 model.

    uv run --group bench python -m benchmarks.cpu_engine [--runs 3] [--threads 2] [--write]

The same phonemes of 5, 14 and 61 words go to each engine in turn, each run at another speed, so that every length of
audio is new to them, as it is to a server. Wall time is what a listener waits; CPU time is what is left to compare on
a machine that is not quiet.

Compared are onnxruntime and kokoro-onnx on the float32 graph, and the server's engines: openvino (in bfloat16, and in
float32) and onnx (int8). Quality is measured against onnxruntime's float32, at speed 1. `--write` puts the figures into
benchmarks/results/cpu_engine.json and the table into the README of speech-container.
"""

import argparse
import importlib.metadata
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from kokoro_weights import WeightsDirectory, prepare
from kokoro_weights.stages import WHOLE, build
from numpy.typing import NDArray
from speech_container.engine import SAMPLE_RATE_HZ, Engine, Utterance
from speech_container.onnx_engine import OnnxEngine
from speech_container.onnx_session import open_session
from speech_container.openvino_engine import OpenVinoEngine
from speech_container.processor import BFLOAT16, processor_flags
from speech_text import FrontEnd, IncrementalSentenceChunker

from benchmarks.rig.report import ROOT, Machine, Spread, put_blocks, save

SCRIPT = "benchmarks/cpu_engine.py"
README = ROOT / "packages" / "speech_container" / "README.md"
VOICE = "af_heart"
TEXTS = {
    5: "The kettle is nearly boiling.",
    14: "When the sun goes down, the water in the harbour turns a deep blue.",
    61: "When the first settlers came to the valley, they found a river so wide and so slow that they took it for a "
    "lake. They built their houses on the northern bank, where the ground was dry, and planted apple trees behind "
    "them. A hundred years later the trees were still there, and every autumn the whole village came to pick.",
}
SPEEDS = (0.9, 1.1)
"""The range that the runs' speeds are spread over."""

ONNXRUNTIME = "onnxruntime float32"
KOKORO_ONNX = "kokoro-onnx float32"
BFLOAT16_NAME = "openvino bfloat16"
FLOAT32_NAME = "openvino float32"
INT8 = "onnx int8"
NAMES = (ONNXRUNTIME, KOKORO_ONNX, INT8, FLOAT32_NAME, BFLOAT16_NAME)

type Audio = NDArray[np.float32]
type Speak = Callable[[str, float], tuple[Audio, list[int] | None]]
"""Phonemes and a speed to audio, and its durations where they are told."""


@dataclass
class Runs:
    """One engine on one text."""

    wall: list[float] = field(default_factory=list)
    """Real-time factors: seconds a second of audio."""
    cpu: list[float] = field(default_factory=list)
    """CPU-seconds, of all threads, a second of audio."""

    def spreads(self) -> dict[str, Any]:
        """For the result."""
        return {"wall": asdict(Spread.of(self.wall)), "cpu": asdict(Spread.of(self.cpu))}


class Phonemes:
    """What the engines are given."""

    def __init__(self, weights: WeightsDirectory) -> None:
        self.weights = weights
        self.style = weights.voice(VOICE)
        self._front_end = FrontEnd(weights.vocabulary)

    def of(self, text: str) -> list[str]:
        """One string for each segment that an engine makes at a time."""
        return [segment.phonemes for segment in self._front_end.segments(text)]

    def utterance(self, phonemes: str, speed: float) -> Utterance:
        """For one of the server's engines."""
        ids = tuple(self.weights.vocabulary[symbol] for symbol in phonemes)
        return Utterance(ids, self.style[len(ids) - 1], speed)


def of_engine(engine: Engine, phonemes: Phonemes) -> Speak:
    """A server's engine, loaded."""
    engine.load()

    def speak(text: str, speed: float) -> tuple[Audio, list[int] | None]:
        (waveform,) = engine.synthesize([phonemes.utterance(text, speed)])
        return waveform.samples, None if waveform.frames is None else waveform.frames.tolist()

    return speak


def of_onnxruntime(model: Path, phonemes: Phonemes, threads: int) -> Speak:
    """The whole float32 graph, with the settings of the server's onnx engine."""
    session = open_session(model, threads=threads, name="the float32 graph")

    def speak(text: str, speed: float) -> tuple[Audio, list[int] | None]:
        utterance = phonemes.utterance(text, speed)
        feed = {
            "tokens": np.array([[0, *utterance.token_ids, 0]], dtype=np.int64),
            "style": utterance.style.reshape(1, -1),
            "speed": np.array([speed], dtype=np.float32),
        }
        audio, durations = session.run(["audio", "durations"], feed)
        return audio.reshape(-1), durations.reshape(-1).tolist()

    return speak


def of_kokoro_onnx(model: Path, phonemes: Phonemes, folder: Path) -> Speak:
    """kokoro-onnx as it comes, which means all cores, given phonemes and told not to trim."""
    try:
        from kokoro_onnx import Kokoro
    except ImportError as error:
        raise SystemExit(
            "kokoro-onnx is not installed: uv run --group bench python benchmarks/cpu_engine.py"
        ) from error
    voices = folder / "voices.npz"
    arrays: dict[str, Any] = {VOICE: phonemes.style[:, np.newaxis]}
    np.savez(voices, **arrays)
    kokoro = Kokoro(str(model), str(voices), vocab_config={"vocab": phonemes.weights.vocabulary})

    def speak(text: str, speed: float) -> tuple[Audio, list[int] | None]:
        audio, _ = kokoro.create(text, VOICE, speed, is_phonemes=True, trim=False)
        return audio, None

    return speak


@contextmanager
def contestants(phonemes: Phonemes, threads: int) -> Iterator[dict[str, Speak]]:
    """All of them, loaded."""
    weights = phonemes.weights
    if weights.onnx_model is None or weights.stages is None:
        raise SystemExit("the weights have no export or no stages: run `kokoro-weights prepare`")
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        model = folder / "whole.onnx"
        for _, data in build(weights.onnx_model.read_bytes(), (WHOLE,)):
            model.write_bytes(data)
        yield {
            ONNXRUNTIME: of_onnxruntime(model, phonemes, threads),
            KOKORO_ONNX: of_kokoro_onnx(model, phonemes, folder),
            INT8: of_engine(OnnxEngine(weights.onnx_model, threads=threads), phonemes),
            FLOAT32_NAME: of_engine(OpenVinoEngine(weights.stages, threads=threads, bfloat16=False), phonemes),
            BFLOAT16_NAME: of_engine(OpenVinoEngine(weights.stages, threads=threads, bfloat16=True), phonemes),
        }


def measure(speaks: dict[str, Speak], segments: Sequence[str], speeds: Sequence[float]) -> dict[str, Runs]:
    """Each engine once for each speed, in turn, beginning with another one each time."""
    runs = {name: Runs() for name in speaks}
    for number, speed in enumerate(speeds):
        order = [*speaks][number % len(speaks) :] + [*speaks][: number % len(speaks)]
        for name in order:
            began_s, cpu_s = time.perf_counter(), time.process_time()
            samples = sum(len(speaks[name](segment, speed)[0]) for segment in segments)
            audio_s = samples / SAMPLE_RATE_HZ
            runs[name].wall.append((time.perf_counter() - began_s) / audio_s)
            runs[name].cpu.append((time.process_time() - cpu_s) / audio_s)
    return runs


def by_threads(phonemes: Phonemes, segments: Sequence[str], speeds: Sequence[float]) -> dict[str, Any]:
    """openvino in bfloat16 with 1, 2, 4 and 8 threads, as far as there are cores: what one utterance gains by them."""
    weights = phonemes.weights
    if weights.stages is None:
        raise SystemExit("the weights have no stages: run `kokoro-weights prepare`")
    speaks = {}
    for threads in (1, 2, 4, 8):
        if threads <= len(os.sched_getaffinity(0)):
            engine = OpenVinoEngine(weights.stages, threads=threads, bfloat16=True)
            speaks[str(threads)] = of_engine(engine, phonemes)
            speaks[str(threads)](segments[0], 1.0)
    runs = measure(speaks, segments, speeds)
    return {threads: one.spreads() for threads, one in runs.items()}


def first_audio(speaks: dict[str, Speak], phonemes: Phonemes, speeds: Sequence[float]) -> dict[str, Any]:
    """Seconds of the 61 words' first clause on openvino, and of their first sentence on onnxruntime."""
    text = TEXTS[61]
    (clause, *_), (sentence, *_) = (
        IncrementalSentenceChunker(first_clause=first).feed(text) for first in (True, False)
    )
    walls: dict[str, list[float]] = {ONNXRUNTIME: [], BFLOAT16_NAME: []}
    for speed in speeds:
        for name, words in ((ONNXRUNTIME, sentence), (BFLOAT16_NAME, clause)):
            segments = phonemes.of(words)
            began_s = time.perf_counter()
            speaks[name](segments[0], speed)
            walls[name].append(time.perf_counter() - began_s)
    ratios = [ours / theirs for ours, theirs in zip(walls[BFLOAT16_NAME], walls[ONNXRUNTIME], strict=True)]
    return {
        "first_clause": clause,
        "first_sentence": sentence,
        "clause_on_openvino_s": asdict(Spread.of(walls[BFLOAT16_NAME])),
        "sentence_on_onnxruntime_s": asdict(Spread.of(walls[ONNXRUNTIME])),
        "ratio": asdict(Spread.of(ratios)),
    }


def quality(speaks: dict[str, Speak], segments: dict[int, list[str]]) -> dict[str, Any]:
    """Against onnxruntime's float32: the lowest correlation, the lowest signal to difference, the durations."""
    found: dict[str, Any] = {}
    for name in (KOKORO_ONNX, FLOAT32_NAME, BFLOAT16_NAME):
        correlations, decibels, same = [], [], True
        for segment in (segment for parts in segments.values() for segment in parts):
            exact, durations = speaks[ONNXRUNTIME](segment, 1.0)
            audio, told = speaks[name](segment, 1.0)
            same &= len(audio) == len(exact) and (told is None or told == durations)
            if len(audio) == len(exact):
                correlations.append(float(np.corrcoef(audio, exact)[0, 1]))
                difference = float(np.square(audio.astype(np.float64) - exact).sum())
                decibels.append(10 * np.log10(float(np.square(exact.astype(np.float64)).sum()) / (difference + 1e-30)))
        found[name] = {
            "durations_identical": same,
            "correlation_min": round(min(correlations, default=0.0), 6),
            "signal_to_difference_min_db": round(min(decibels, default=0.0), 1),
        }
    return found


def ratio(runs: dict[str, Runs], name: str, other: str) -> dict[str, Any]:
    """Of pairs of runs that followed each other."""
    pairs = {
        "wall": zip(runs[name].wall, runs[other].wall, strict=True),
        "cpu": zip(runs[name].cpu, runs[other].cpu, strict=True),
    }
    return {kind: asdict(Spread.of([one / two for one, two in values])) for kind, values in pairs.items()}


def table(result: dict[str, Any], machine: Machine) -> str:
    """The result in Markdown."""
    kind = ", ".join(result["bfloat16"]) or "no bfloat16"
    lines = [
        f"{machine}, {kind}:",
        "seconds a second of audio, medians of alternating runs, each at a new length; in brackets CPU-seconds.",
        "",
        "| | " + " | ".join(f"{words} words" for words in TEXTS) + " | against float32: correlation, durations |",
        "|---" * (len(TEXTS) + 2) + "|",
    ]
    for name in NAMES:
        cells = [result["texts"][str(words)]["real_time_factor"][name] for words in TEXTS]
        figures = " | ".join(f"{cell['wall']['median']:.2f} ({cell['cpu']['median']:.2f})" for cell in cells)
        near = result["quality"].get(name)
        same = f"{near['correlation_min']:.4f}, {'equal' if near['durations_identical'] else 'other'}" if near else ""
        lines.append(f"| {name} | {figures} | {same} |")
    first = result["first_audio"]
    clause_s, sentence_s = (first[name]["median"] for name in ("clause_on_openvino_s", "sentence_on_onnxruntime_s"))
    lines += [
        "",
        f"First audio of the 61 words: {clause_s:.2f} s by their first clause on openvino, {sentence_s:.2f} s by their",
        f"first sentence on onnxruntime's float32 (a ratio of {first['ratio']['median']:.2f}).",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of each engine on each text")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--write", action="store_true", help="into benchmarks/results and the server's README")
    arguments = parser.parse_args()
    machine = Machine.here()
    phonemes = Phonemes(prepare("packages", stages=True))
    segments = {words: phonemes.of(text) for words, text in TEXTS.items()}
    speeds = np.linspace(*SPEEDS, arguments.runs).round(3).tolist()
    result: dict[str, Any] = {
        "bfloat16": sorted(processor_flags() & BFLOAT16),
        "threads": arguments.threads,
        "runs": arguments.runs,
        "versions": {name: importlib.metadata.version(name) for name in ("onnxruntime", "openvino", "kokoro-onnx")},
        "texts": {},
    }
    with contestants(phonemes, arguments.threads) as speaks:
        result["quality"] = quality(speaks, segments)  # and each engine is warm
        for words, parts in segments.items():
            runs = measure(speaks, parts, speeds)
            result["texts"][str(words)] = {
                "real_time_factor": {name: one.spreads() for name, one in runs.items()},
                "openvino_bfloat16_to": {
                    other: ratio(runs, BFLOAT16_NAME, other) for other in NAMES if other != BFLOAT16_NAME
                },
                "openvino_float32_to": {other: ratio(runs, FLOAT32_NAME, other) for other in (ONNXRUNTIME, INT8)},
            }
        result["first_audio"] = first_audio(speaks, phonemes, speeds)
    result["openvino_bfloat16_by_threads"] = by_threads(phonemes, segments[14], speeds)
    text = table(result, machine)
    print(text)
    if arguments.write:
        save("cpu_engine", machine, result)
        put_blocks(README, {"cpu engines": text}, SCRIPT)


if __name__ == "__main__":
    main()
