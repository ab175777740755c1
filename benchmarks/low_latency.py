"""Audio before a sentence is decoded: how near it comes to whole sentences in sound, and how much sooner it is heard.

    uv run python -m benchmarks.low_latency [--sentences 2] [--runs 3] [--only sound|time] [--write docs]

Sound: sentences that no calibration has spoken, in six voices, each decoded whole and in chunks; the distance between
the two beside that of bfloat16, which nobody has complained about, and whether whisper hears as much. All 30 sentences
take half an hour of two cores. `--rows FILE` keeps what was measured, and goes on from there.

Time: the first chunk against the whole sentence, in alternating runs, each at a length that is new to the engine; then
a server whose own latency is low, heard by a listener in real time.

`--write DIR` puts the figures into benchmarks/results, the tables into DIR/low-latency.md, and draws low-latency.png.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from kokoro_weights import WeightsDirectory, prepare
from kokoro_weights.stages import WHOLE, build
from speech_container.engine import Utterance
from speech_container.onnx_session import open_session
from speech_container.openvino_engine import OpenVinoEngine
from speech_container.processor import multiplies_bfloat16
from speech_container.stage import asked
from speech_text import voice_language

from benchmarks.cpu_engine import SPEEDS, TEXTS
from benchmarks.rig.chunked_sound import ChunkedSound, opened
from benchmarks.rig.limit import Limit, limit_table
from benchmarks.rig.listener import Heard, listen
from benchmarks.rig.low_latency_sound import (
    Phonemes,
    Row,
    by_voice,
    certainty_line,
    draw,
    sound,
    sound_limits,
    sound_table,
)
from benchmarks.rig.report import Machine, Spread, put_blocks, save
from benchmarks.rig.servers import running, speech_container

SCRIPT: Final = "benchmarks/low_latency.py"
SENTENCES: Final[dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("low_latency_sentences.json").read_text("utf-8")
)
VOICES: Final = ("af_heart", "af_bella", "am_adam", "am_michael", "bf_emma", "bm_george")
BLENDS: Final = ("af_heart+af_bella", "af_bella+bm_george")
OTHERS: Final = ("ef_dora", "ff_siwis", "hf_alpha", "if_sara", "jf_alpha", "pf_dora", "zf_xiaoxiao")
"""One of each other language."""
SHARE_OF_OTHERS: Final = 5
"""Blends and other languages have one sentence for so many of each of the six voices."""
SEVEN_S: Final = (
    "The harbour was quiet when the last ferry of the day came in, and only a dog with a blue collar was waiting "
    "on the pier."
)
LONG: Final = (
    "When the train finally arrived at the small station near the border, an old man with two suitcases asked the "
    "conductor whether this was still the line to the coast, because nobody in the village seemed to remember where "
    "the new track was supposed to go."
)
DRAWN: Final = ("af_heart", "bm_george")
SPOKEN: Final = (TEXTS[14], SEVEN_S, LONG)
PARAGRAPH: Final = TEXTS[61]

OF_WHOLE: Final = 0.4
OF_PARAGRAPH: Final = 0.1


class Stopwatch:
    """Engines to be timed, loaded and warm."""

    def __init__(self, weights: WeightsDirectory, threads: int) -> None:
        stages, statistics = opened(weights)
        if weights.onnx_model is None:
            raise SystemExit("the weights have no ONNX export to compare with")
        self.bfloat16 = multiplies_bfloat16()
        self._engine = OpenVinoEngine(stages, statistics, threads=threads, bfloat16=self.bfloat16)
        self._engine.load()
        ((_, graph),) = build(weights.onnx_model.read_bytes(), (WHOLE,))
        self._onnxruntime = open_session(graph, threads=threads, name="the float32 graph")

    def first_s(self, utterance: Utterance) -> tuple[float, float]:
        """Until its first chunk, and how long that is."""
        began_s = time.perf_counter()
        (waveform,) = self._engine.synthesize([utterance])
        return time.perf_counter() - began_s, waveform.duration_s

    def whole_s(self, utterance: Utterance) -> tuple[float, float]:
        """Until it is decoded whole, and how long it is."""
        return self.first_s(replace(utterance, latency="exact"))

    def on_onnxruntime_s(self, utterances: Sequence[Utterance]) -> float:
        """All of them, whole, in float32."""
        began_s = time.perf_counter()
        for utterance in utterances:
            self._onnxruntime.run(["audio"], asked(utterance))
        return time.perf_counter() - began_s


def timed(watch: Stopwatch, phonemes: Phonemes, speeds: Sequence[float]) -> dict[str, Any]:
    """First chunks against whole sentences, and against the paragraph on onnxruntime. Whoever is first alternates."""
    found: dict[str, Any] = {"sentences": []}
    voice = VOICES[0]
    watch.whole_s(phonemes.of(SEVEN_S, voice)[0])
    watch.first_s(phonemes.of(SEVEN_S, voice)[0])
    for text in SPOKEN:
        first, whole, audio = [], [], []
        for number, speed in enumerate(speeds):
            (utterance,) = phonemes.of(text, voice, speed)
            for way in (0, 1) if number % 2 else (1, 0):
                if way:
                    first.append(watch.first_s(utterance)[0])
                else:
                    whole.append(watch.whole_s(utterance))
            audio.append(whole[-1][1])
        ratios = [one / other for one, (other, _) in zip(first, whole, strict=True)]
        found["sentences"].append(
            {
                "text": text,
                "audio_s": asdict(Spread.of(audio)),
                "first_s": asdict(Spread.of(first)),
                "whole_s": asdict(Spread.of([seconds for seconds, _ in whole])),
                "ratio": asdict(Spread.of(ratios)),
            }
        )
    first, whole_s = [], []
    for speed in speeds:
        utterances = phonemes.of(PARAGRAPH, voice, speed)
        first.append(watch.first_s(utterances[0])[0])
        whole_s.append(watch.on_onnxruntime_s(utterances))
    found["paragraph"] = {
        "first_s": asdict(Spread.of(first)),
        "onnxruntime_s": asdict(Spread.of(whole_s)),
        "ratio": asdict(Spread.of([one / other for one, other in zip(first, whole_s, strict=True)])),
    }
    return found


async def delivered(texts: Sequence[str], runs: int) -> dict[str, Any]:
    """What a listener hears of a server of either latency, one text after the other: first audio, silence after it."""
    found = {}
    for latency in ("exact", "low"):
        async with running(speech_container("openvino"), {"SPEECH_LATENCY": latency}) as server:
            now_s = asyncio.get_running_loop().time()
            heard = await listen(0, server.session_url, list(texts) * runs, began_s=now_s, starts_s=0)
        found[latency] = _delivered(heard)
    return found


def _delivered(heard: Sequence[Heard]) -> dict[str, Any]:
    return {
        "answers": len(heard),
        "audio_s": round(sum(one.audio_s for one in heard), 1),
        "first_audio_s": asdict(Spread.of([one.first_audio_s for one in heard])),
        "ran_dry": sum(one.silence_s > 0 for one in heard),
        "silence_s": round(sum(one.silence_s for one in heard), 3),
    }


def time_limits(result: dict[str, Any]) -> list[Limit]:
    """Of the medians."""
    seven = next(one for one in result["sentences"] if one["text"] == SEVEN_S)
    return [
        Limit("first audio of a 7 s sentence, of its whole decode", seven["ratio"]["median"], OF_WHOLE),
        Limit(
            "first audio of 61 words, of what onnxruntime takes for them whole",
            result["paragraph"]["ratio"]["median"],
            OF_PARAGRAPH,
        ),
        Limit("answers of low latency that ran dry", result["delivered"]["low"]["ran_dry"], 0),
    ]


def time_table(result: dict[str, Any], machine: Machine, limits: Sequence[Limit]) -> str:
    """In Markdown."""
    kind = "bfloat16" if result["bfloat16"] else "float32"
    paragraph, heard = result["paragraph"], result["delivered"]
    lines = [
        f"{machine}; openvino in {kind}, medians of {result['runs']} alternating runs.",
        "",
        "| a sentence of | first chunk | whole | ratio |",
        "|---|--:|--:|--:|",
    ]
    for one in result["sentences"]:
        audio, first, whole, ratio = (one[key]["median"] for key in ("audio_s", "first_s", "whole_s", "ratio"))
        lines.append(f"| {audio:.1f} s | {first:.2f} s | {whole:.2f} s | **{ratio:.2f}** |")
    first, whole, ratio = (paragraph[key]["median"] for key in ("first_s", "onnxruntime_s", "ratio"))
    lines += [
        "",
        f"The first chunk of a paragraph of 61 words comes after {first:.2f} s; onnxruntime's float32 has made all",
        f"of it after {whole:.1f} s (a ratio of {ratio:.3f}).",
        "",
        "| through the server | answers | audio | first audio: median | lowest | highest | ran dry |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for latency, one in heard.items():
        spread = " | ".join(f"{one['first_audio_s'][key]:.2f} s" for key in ("median", "low", "high"))
        lines.append(f"| `{latency}` | {one['answers']} | {one['audio_s']:.0f} s | {spread} | {one['ran_dry']} |")
    return "\n".join([*lines, "", *limit_table(limits)])


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=2, help="in each voice, of 30")
    parser.add_argument("--runs", type=int, default=3, help="of what is timed")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", choices=("sound", "time"))
    parser.add_argument("--rows", type=Path, help="a file of sentences that were measured, one in a line")
    parser.add_argument("--write", type=Path, metavar="DIR", help="the directory of low-latency.md")
    arguments = parser.parse_args()
    machine = Machine.here()
    weights = prepare("packages", stages=True)
    phonemes = Phonemes(weights)
    limits: list[Limit] = []
    if arguments.only != "time":
        limits += _sound(weights, phonemes, arguments, machine)
    if arguments.only != "sound":
        limits += _time(weights, phonemes, arguments, machine)
    if missed := [limit.what for limit in limits if not limit.is_met]:
        raise SystemExit(f"missed: {'; '.join(missed)}")


def _sound(
    weights: WeightsDirectory, phonemes: Phonemes, arguments: argparse.Namespace, machine: Machine
) -> list[Limit]:
    stages, statistics = opened(weights)
    made = ChunkedSound(stages, statistics, threads=arguments.threads, bfloat16=multiplies_bfloat16())
    known = _read(arguments.rows)
    english = SENTENCES["en"][: arguments.sentences]
    few = -(-arguments.sentences // SHARE_OF_OTHERS)
    todo: list[tuple[Sequence[str], Sequence[str]]] = [(VOICES, english), (BLENDS, english[:few])]
    todo += [((voice,), SENTENCES[voice_language(voice)][:few]) for voice in OTHERS]
    asked_for = {(voice, text) for voices, texts in todo for voice in voices for text in texts}
    rows = [row for row in known if (row.voice, row.text) in asked_for]
    for voices, texts in todo:
        for row in sound(made, phonemes, voices, texts, known):
            print(f"{row.voice:<12}{row.frames:>4} frames  {row.low.spectral:.2f} dB  {row.text[:60]}", flush=True)
            rows.append(row)
            if arguments.rows is not None:
                with arguments.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
    measured = [row for row in rows if row.voice in VOICES]
    limits = sound_limits(measured)
    text = f"{sound_table(rows, limits)}\n\n{certainty_line(measured)}"
    print(text)
    if arguments.write is not None:
        figures = {"limits": [asdict(limit) for limit in limits], "voices": by_voice(rows)}
        save("low_latency_sound", machine, figures)
        put_blocks(arguments.write / "low-latency.md", {"Sound": text}, SCRIPT)
        draw(arguments.write / "low-latency.png", {voice: made.of(*phonemes.of(SEVEN_S, voice)) for voice in DRAWN})
    return limits


def _time(
    weights: WeightsDirectory, phonemes: Phonemes, arguments: argparse.Namespace, machine: Machine
) -> list[Limit]:
    watch = Stopwatch(weights, arguments.threads)
    speeds = np.linspace(*SPEEDS, arguments.runs).round(3).tolist()
    result = {"bfloat16": watch.bfloat16, "runs": arguments.runs, **timed(watch, phonemes, speeds)}
    del watch  # its engines, while a server has its own
    texts = [PARAGRAPH, *SPOKEN, *SENTENCES["en"][:8]]
    result["delivered"] = asyncio.run(delivered(texts, min(arguments.runs, 2)))
    limits = time_limits(result)
    text = time_table(result, machine, limits)
    print(text)
    if arguments.write is not None:
        save("low_latency_time", machine, {"limits": [asdict(limit) for limit in limits], **result})
        put_blocks(arguments.write / "low-latency.md", {"Time": text}, SCRIPT)
    return limits


def _read(path: Path | None) -> list[Row]:
    if path is None or not path.is_file():
        return []
    return [Row.parse(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
