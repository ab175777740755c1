"""What the torch engine does on one CUDA device: how much audio a second, and how long listeners wait.

    make bench-gpu                                     # at most 8 minutes; writes benchmarks/results/gpu.json
    python benchmarks/gpu.py --device cpu --quick      # only shows that it runs
    python benchmarks/gpu_pack.py DIR                  # a folder to copy to a machine without this project,
    python DIR/gpu.py                                  # there: with torch, transformers, safetensors and numpy alone

Three things. Batches of 1 to 32 sentences of 5, 14 and 40 words through `TorchEngine.synthesize`, with and without
graphs: milliseconds (median, from utterances to samples on the host) and seconds of audio a second. What a batch gives
against what its utterances give alone on this device. And 1 to 50 listeners through the server's own scheduler
and engine thread (`Synthesis`): paced ones hear each sentence to its end before they ask for the next, unpaced ones ask
at once. A row that no time is left for is listed as skipped.

No network. The image is named by its digest in the variable IMAGE_DIGEST. `--random-weights` (also of gpu_pack.py) is
for where 400 MB cannot be copied: the same work on numbers that mean nothing, at a speed that gives as many frames.
"""

import argparse
import asyncio
import importlib.metadata
import itertools
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
PACKED: Final = HERE / "site"
if PACKED.is_dir():
    sys.path.insert(0, str(PACKED))

BATCHES: Final = (1, 2, 4, 8, 16, 32)
LISTENERS: Final = (1, 10, 30, 50)
BUDGET_S: Final = 480.0
LISTENING_S: Final = 15.0
LISTENING_WARM_UP_S: Final = 3.0
MEASURE_S: Final = 0.8
"""How long a row is repeated, but at least three times."""
VOICES: Final = ("af_heart", "am_adam", "bf_emma", "bm_george")
SERVED_BATCH: Final = 8
PHONEMES_A_SECOND: Final = 15
RANDOM_FRAMES_A_TOKEN: Final = 25
"""What random weights make of a token: half of 50 steps."""
LEAST_CORRELATION: Final = 0.99
"""In half precision; in float32 it is 0.9999."""


@dataclass(frozen=True)
class Voices:
    """What utterances are made of. `speed`: by tokens, where the weights are random; else 1."""

    items: dict[str, Any]
    vocabulary: dict[str, int]
    style: Callable[[str, int], Any]
    is_random: bool

    def utterance(self, item: dict[str, Any], number: int) -> Any:
        """An item with a voice and a seed of its own."""
        from speech_container.engine import Utterance

        ids = tuple(self.vocabulary[phoneme] for phoneme in item["phonemes"])
        wanted_frames = len(ids) / PHONEMES_A_SECOND * 40
        speed = RANDOM_FRAMES_A_TOKEN * (len(ids) + 2) / wanted_frames if self.is_random else 1.0
        return Utterance(ids, self.style(VOICES[number % len(VOICES)], len(ids)), speed, seed=number)


@dataclass(frozen=True)
class Bench:
    """One run. `make`: an engine, with graphs or without, of so many sentences; `left_s`: of the budget.

    `skipped`: what there was no time for, or what failed.
    """

    make: Callable[[bool, int], Any]
    voices: Voices
    quick: bool
    has_device: bool
    left_s: Callable[[], float]
    skipped: list[str] = field(default_factory=list)

    def load(self, *, graphs: bool, max_batch: int) -> Any:
        """An engine that is ready; one without graphs where those cannot be recorded."""
        engine = self.make(graphs, max_batch)
        began_s = time.perf_counter()
        try:
            engine.load()
        except Exception as error:  # a new device or driver may fail in any way, and the rest is wanted
            if not graphs:
                raise
            self.skipped.append(f"{engine.name}: {type(error).__name__}: {error}")
            say(self.skipped[-1])
            return self.load(graphs=False, max_batch=max_batch)
        say(f"{engine.name}: loaded in {time.perf_counter() - began_s:.1f} s")
        return engine

    def throughput(self) -> list[dict[str, Any]]:
        """A row for each mode, length and batch."""
        rows: list[dict[str, Any]] = []
        batches = BATCHES[:2] if self.quick else BATCHES
        items = self.voices.items["lengths"][:1] if self.quick else self.voices.items["lengths"]
        for graphs in (False, True) if self.has_device else (False,):
            engine = self.load(graphs=graphs, max_batch=max(batches))
            for item, batch in itertools.product(items, batches):
                what = f"{engine.name}, {item['words']} words, batch {batch}"
                if self.left_s() < 2 * len(LISTENERS) * (LISTENING_WARM_UP_S + LISTENING_S):
                    self.skipped.append(what)
                    continue
                named = {"engine": engine.name, "words": item["words"], "batch": batch}
                rows.append(named | self._row(engine, item, batch))
                say(f"{what:36} {rows[-1]['ms']:9.1f} ms {rows[-1]['audio_s_a_second']:8.1f} audio-s/s")
            engine.close()
        return rows

    def _row(self, engine: Any, item: dict[str, Any], batch: int) -> dict[str, float]:
        utterances = [self.voices.utterance(item, number) for number in range(batch)]
        engine.synthesize(utterances)
        took_s: list[float] = []
        audio_s = 0.0
        while len(took_s) < (1 if self.quick else 3) or (not self.quick and sum(took_s) < MEASURE_S):
            began_s = time.perf_counter()
            waveforms = engine.synthesize(utterances)
            took_s.append(time.perf_counter() - began_s)
            audio_s = sum(waveform.duration_s for waveform in waveforms)
        median_s = statistics.median(took_s)
        return {
            "ms": round(median_s * 1000, 2),
            "ms_least": round(min(took_s) * 1000, 2),
            "runs": len(took_s),
            "audio_s": round(audio_s, 2),
            "audio_s_a_second": round(audio_s / median_s, 1),
        }

    def parity(self) -> dict[str, Any]:
        """Each utterance of a batch against the same one alone, on this device and in its precision."""
        import numpy as np

        engine = self.load(graphs=self.has_device, max_batch=SERVED_BATCH)
        items = self.voices.items["sentences"][: 2 if self.quick else SERVED_BATCH]
        utterances = [self.voices.utterance(item, number) for number, item in enumerate(items)]
        together = engine.synthesize(utterances)
        alone = [engine.synthesize([utterance])[0] for utterance in utterances]
        engine.close()
        same = all(np.array_equal(a.frames, b.frames) for a, b in zip(together, alone, strict=True))
        if not same:
            return {"durations_equal": False}
        pairs = [(a.samples, b.samples) for a, b in zip(together, alone, strict=True)]
        return {
            "durations_equal": True,
            "least_correlation": round(float(min(np.corrcoef(a, b)[0, 1] for a, b in pairs)), 6),
            "largest_difference": float(max(np.abs(a - b).max() for a, b in pairs)),
        }

    def listening(self) -> list[dict[str, Any]]:
        """A row for each number of listeners, paced and unpaced."""
        rows: list[dict[str, Any]] = []
        engine = self.load(graphs=self.has_device, max_batch=SERVED_BATCH if self.has_device else 1)
        for paced, listeners in itertools.product((True, False), (2,) if self.quick else LISTENERS):
            kind = "paced" if paced else "unpaced"
            if self.left_s() < 2 * LISTENING_S:
                self.skipped.append(f"{listeners} {kind} listeners")
                continue
            row = asyncio.run(self._listen(Kept(engine), listeners, paced))
            rows.append({"engine": engine.name, "listeners": listeners, "paced": paced} | row)
            say(
                f"{listeners} {kind} listeners: first audio {row['median_ms']:.0f} ms, p95 {row['p95_ms']:.0f} ms; "
                f"{row['audio_s_a_second']:.1f} audio-s/s, {row['sentences_a_step']:.1f} sentences a step"
            )
        engine.close()
        return rows

    async def _listen(self, engine: "Kept", listeners: int, paced: bool) -> dict[str, Any]:
        from speech_container.measured_engine import MeasuredEngine
        from speech_container.settings import Settings
        from speech_container.synthesis import Synthesis

        steps: list[tuple[float, int, float]] = []

        def told(batch: int, took_s: float, audio_s: float) -> None:
            steps.append((time.monotonic(), batch, audio_s))

        settings = Settings()
        synthesis = Synthesis(
            MeasuredEngine(engine, told),
            max_waiting_segments=settings.max_waiting_segments,
            look_ahead_s=settings.look_ahead_s,
            batch_window_s=settings.batch_window_ms / 1000,
        )
        await synthesis.start()
        counts_from_s = time.monotonic() + (0.0 if self.quick else LISTENING_WARM_UP_S)
        ends_s = counts_from_s + (0.0 if self.quick else LISTENING_S)
        heard = await asyncio.gather(*(self._listener(synthesis, number, paced, ends_s) for number in range(listeners)))
        until_s = time.monotonic() if self.quick else ends_s
        await synthesis.stop()
        waits_s = sorted(wait_s for each in heard for at_s, wait_s in each if at_s >= counts_from_s)
        counted = [(batch, audio_s) for at_s, batch, audio_s in steps if counts_from_s <= at_s < until_s]
        return {
            "requests": len(waits_s),
            "median_ms": round(statistics.median(waits_s) * 1000, 1),
            "p95_ms": round(waits_s[max(0, -(-95 * len(waits_s) // 100) - 1)] * 1000, 1),
            "audio_s_a_second": round(sum(audio_s for _, audio_s in counted) / (until_s - counts_from_s), 1),
            "sentences_a_step": round(statistics.mean([batch for batch, _ in counted] or [0]), 2),
        }

    async def _listener(self, synthesis: Any, number: int, paced: bool, ends_s: float) -> list[tuple[float, float]]:
        """When this listener asked for what, and how long it waited for the first sound of it."""
        chance = random.Random(number)
        heard: list[tuple[float, float]] = []
        if paced and not self.quick:
            await asyncio.sleep(chance.uniform(0, LISTENING_WARM_UP_S))
        while time.monotonic() < ends_s or not heard:
            item = chance.choice(self.voices.items["sentences"][: 3 if self.quick else None])
            asked_s = time.monotonic()
            with synthesis.recite(number + 1, self._script(item, number), paced=paced) as recitation:
                async for spoken in recitation:
                    heard.append((asked_s, time.monotonic() - asked_s))
                    recitation.delivered(spoken.waveform.duration_s)
                    if paced:
                        await asyncio.sleep(min(spoken.waveform.duration_s, max(0.0, ends_s - time.monotonic())))
        return heard

    def _script(self, item: dict[str, Any], number: int) -> Any:
        from speech_container.narration import Line, Script
        from speech_protocol import VoiceOptions
        from speech_text import Segment

        segment = Segment(item["phonemes"], (), 0, len(item["text"]))
        line = Line(self.voices.utterance(item, number), segment)
        return Script(item["text"], VoiceOptions(), (line,))


class Kept:
    """An engine that stays loaded whoever starts and ends with it."""

    def __init__(self, engine: Any) -> None:
        self.name: str = engine.name
        self.max_batch: int = engine.max_batch
        self.latencies = engine.latencies
        self.synthesize = engine.synthesize

    def load(self) -> None:
        """It is."""

    def close(self) -> None:
        """Not yet."""


def machine(device: str) -> dict[str, Any]:
    """What it ran on."""
    import torch

    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "image_digest": os.environ.get("IMAGE_DIGEST"),
        "cpus": len(os.sched_getaffinity(0)),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if device == "cuda" else None,
        "driver": driver() if device == "cuda" else None,
    }
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        found["memory_gib"] = round(properties.total_memory / 2**30, 1)
        found["capability"] = ".".join(map(str, torch.cuda.get_device_capability()))
    for package in ("torch", "transformers", "safetensors", "numpy", "kokoro", "speech-container"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def driver() -> str | None:
    """The version of NVIDIA's driver, as its own tool says."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.strip() or None


def random_weights(config: dict[str, Any], folder: Path) -> Path:
    """A safetensors file of the right shapes, always the same."""
    import torch
    from safetensors.torch import save_file
    from speech_container.kokoro_model import OfflineKModel

    torch.manual_seed(0)
    model = OfflineKModel(config)
    parameters = {name: each.contiguous() for name, each in model.state_dict().items()}
    save_file(parameters, folder / "model.safetensors")
    return folder / "model.safetensors"


def open_voices(arguments: argparse.Namespace, folder: Path) -> tuple[Voices, Path, dict[str, Any]]:
    """The items, the model's file and its config."""
    import numpy as np
    from kokoro_weights import WeightsDirectory, prepare

    items = json.loads((HERE / "gpu_items.json").read_text("utf-8"))
    given = arguments.weights or (HERE / "weights" if (HERE / "weights").is_dir() else None)
    if arguments.random_weights:
        packed = HERE / "config.json"
        config = json.loads(packed.read_text("utf-8")) if packed.is_file() else dict(prepare("packages").config)
        chance = np.random.default_rng(0)
        styles = {voice: chance.normal(scale=0.1, size=256).astype(np.float32) for voice in VOICES}
        voices = Voices(items, config["vocab"], lambda voice, _: styles[voice], is_random=True)
        return voices, random_weights(config, folder), config
    weights = prepare("packages", safetensors=True) if given is None else WeightsDirectory.open(given)
    weights.verify()
    if weights.safetensors_model is None:
        raise SystemExit(
            f"{weights.path} has no model.safetensors; `kokoro-weights prepare --safetensors --directory DIR` makes one"
        )
    voices = Voices(items, weights.vocabulary, lambda voice, tokens: weights.voice(voice)[tokens - 1], is_random=False)
    return voices, weights.safetensors_model, weights.config


def say(line: str) -> None:
    """At once, also into a pipe."""
    print(line, flush=True)


def main() -> None:
    """Measure, print and write."""
    began_s = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="a few rows, each once")
    parser.add_argument("--weights", type=Path, help="a prepared weights directory with a model.safetensors")
    parser.add_argument("--random-weights", action="store_true", help="no weights: the same work without the sound")
    parser.add_argument("--budget-s", type=float, default=BUDGET_S)
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="the file that is written")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the engine takes a device where it sees one
    import torch
    from speech_container.torch_engine import TorchEngine

    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("torch sees no CUDA device; `--device cpu --quick` shows only that this script runs")
    found = machine(arguments.device)
    say(", ".join(f"{name} {value}" for name, value in found.items() if value is not None))
    with tempfile.TemporaryDirectory() as folder:
        voices, model, config = open_voices(arguments, Path(folder))

        def make(graphs: bool, max_batch: int) -> TorchEngine:
            return TorchEngine(model, config, threads=found["cpus"], graphs=graphs, max_batch=max_batch)

        has_device = arguments.device == "cuda"

        def left_s() -> float:
            return float(arguments.budget_s - (time.monotonic() - began_s))

        bench = Bench(make, voices, quick=arguments.quick, has_device=has_device, left_s=left_s)
        report: dict[str, Any] = {"machine": found, "weights": "random" if voices.is_random else "kokoro"}
        try:
            report["parity"] = parity = bench.parity()
            say(f"a batch against its utterances alone: {parity}")
            report["throughput"] = bench.throughput()
            report["listening"] = bench.listening()
        finally:  # what there is, also where the rest failed
            if has_device:
                report["peak_memory_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
            report |= {"skipped": bench.skipped, "took_s": round(time.monotonic() - began_s, 1)}
            arguments.out.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
            say(f"{report['took_s']} s; written to {arguments.out}; skipped: {report['skipped'] or 'nothing'}")
    if not parity["durations_equal"] or (not voices.is_random and parity["least_correlation"] < LEAST_CORRELATION):
        raise SystemExit("a batch does not give what its utterances give alone")


if __name__ == "__main__":
    main()
