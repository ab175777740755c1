"""Audio before a sentence is decoded, on torch: how near it comes to the whole sentence with the same noise.

    UV_PROJECT_ENVIRONMENT=.venv-torch uv run --extra torch python -m benchmarks.low_latency_torch [--sentences 2]

Sentences that no calibration has spoken, in six voices. KModel draws noise for its source, so the measure of what
nobody hears is the same sentence with other noise. In float32 on the CPU; ten seconds of two cores a sentence and
voice. `--rows FILE` keeps what was measured, and goes on from there. `--write DIR` puts the figures into
benchmarks/results and the table into DIR/low-latency.md.
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from kokoro_weights import prepare
from speech_container.engine import Utterance
from speech_container.pcm import pcm16
from speech_container.torch_engine import TorchEngine

from benchmarks.low_latency import SENTENCES, VOICES
from benchmarks.rig.limit import Limit, limit_table
from benchmarks.rig.low_latency_sound import LOUDNESS_DB, MEL_DB, Phonemes
from benchmarks.rig.report import Machine, put_blocks, save
from benchmarks.rig.sound import Audio, Distance
from benchmarks.round_trip import words
from tests.hearing import heard_text, word_errors

SCRIPT: Final = "benchmarks/low_latency_torch.py"
WAYS: Final = ("whole", "in chunks", "other noise")


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence in one voice; distances are to the whole sentence with the same noise, errors are whisper's."""

    voice: str
    text: str
    chunks: int
    low: Distance
    other: Distance
    words: int
    errors: dict[str, int]


def measured(engine: TorchEngine, phonemes: Phonemes, sentences: Sequence[str], known: Sequence[Row]) -> Iterator[Row]:
    """Every sentence in every voice, but for the known ones."""
    done = {(row.voice, row.text) for row in known}
    for text in sentences:
        for voice in VOICES:
            if (voice, text) not in done:
                (utterance,) = phonemes.of(text, voice)
                yield _row(engine, voice, text, utterance)


def _row(engine: TorchEngine, voice: str, text: str, utterance: Utterance) -> Row:
    exact = replace(utterance, latency="exact")
    chunks = list(_chunks(engine, utterance))
    audio: dict[str, Audio] = {
        "whole": engine.synthesize([exact])[0].samples,
        "in chunks": np.concatenate(chunks),
        "other noise": engine.synthesize([replace(exact, seed=utterance.seed + 1)])[0].samples,
    }
    expected = words(text)
    return Row(
        voice,
        text,
        len(chunks),
        Distance.of(audio["whole"], audio["in chunks"]),
        Distance.of(audio["whole"], audio["other noise"]),
        len(expected),
        {way: word_errors(expected, words(heard_text(pcm16(audio[way])))) for way in WAYS},
    )


def _chunks(engine: TorchEngine, utterance: Utterance) -> Iterator[Audio]:
    rest: Utterance | None = utterance
    while rest is not None:
        (waveform,) = engine.synthesize([rest])
        yield waveform.samples
        rest = waveform.rest


def _mean(rows: Sequence[Row], way: str, what: str) -> float:
    return float(np.mean([getattr(getattr(row, way), what) for row in rows]))


def _most(rows: Sequence[Row], way: str) -> float:
    return float(max(getattr(row, way).loudness_max for row in rows))


def _errors(rows: Sequence[Row], way: str) -> int:
    return sum(row.errors[way] for row in rows)


def limits_of(rows: Sequence[Row]) -> list[Limit]:
    """Those of the other engine, but for the spectrum's: that is what other noise does to it."""
    return [
        Limit("log-spectral distance, mean, dB", _mean(rows, "low", "spectral"), _mean(rows, "other", "spectral")),
        Limit("mel distance, mean, dB", _mean(rows, "low", "mel"), MEL_DB),
        Limit("loudness of a quarter of a second of speech, largest change, dB", _most(rows, "low"), LOUDNESS_DB),
        Limit("words misheard, against whole sentences", _errors(rows, "in chunks"), _errors(rows, "whole")),
    ]


def table(rows: Sequence[Row], limits: Sequence[Limit]) -> str:
    """In Markdown."""
    head = "| voice | sentences | spectrum | with other noise | mel | with other noise | loudness: mean, most |"
    lines = [f"{head} misheard: whole, in chunks, with other noise |", "|---|--:|--:|--:|--:|--:|---|---|"]
    for voice in VOICES:
        ours = [row for row in rows if row.voice == voice]
        spectral, mel = (
            " | ".join(f"{_mean(ours, way, what):.2f}" for way in ("low", "other")) for what in ("spectral", "mel")
        )
        loudness = f"{_mean(ours, 'low', 'loudness_mean'):.2f}, {_most(ours, 'low'):.2f}"
        heard = f"{', '.join(str(_errors(ours, way)) for way in WAYS)} of {sum(row.words for row in ours)}"
        lines.append(f"| `{voice}` | {len(ours)} | {spectral} | {mel} | {loudness} | {heard} |")
    return "\n".join([*lines, "", *limit_table(limits)])


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=2, help="in each voice, of 30")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rows", type=Path, help="a file of sentences that were measured, one in a line")
    parser.add_argument("--write", type=Path, metavar="DIR", help="the directory of low-latency.md")
    arguments = parser.parse_args()
    machine = Machine.here()
    weights = prepare("packages", safetensors=True)
    statistics = weights.norm_statistics(noise=True)
    if weights.safetensors_model is None or statistics is None:
        raise SystemExit("these weights have no safetensors model, or no table of statistics with noise")
    engine = TorchEngine(weights.safetensors_model, weights.config, statistics, threads=arguments.threads, max_batch=1)
    engine.load()
    sentences = SENTENCES["en"][: arguments.sentences]
    known = _read(arguments.rows)
    rows = [row for row in known if row.text in sentences]
    for row in measured(engine, Phonemes(weights), sentences, known):
        print(f"{row.voice:<12}{row.low.spectral:.2f}, {row.other.spectral:.2f} dB  {row.text[:60]}", flush=True)
        rows.append(row)
        if arguments.rows is not None:
            with arguments.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    rows = [row for row in rows if row.chunks > 1]
    limits = limits_of(rows)
    text = table(rows, limits)
    print(text)
    if arguments.write is not None:
        figures = {"limits": [asdict(limit) for limit in limits], "rows": [asdict(row) for row in rows]}
        save("low_latency_torch", machine, figures)
        put_blocks(arguments.write / "low-latency.md", {"Torch": text}, SCRIPT)
    if missed := [limit.what for limit in limits if not limit.is_met]:
        raise SystemExit(f"missed: {'; '.join(missed)}")


def _read(path: Path | None) -> list[Row]:
    if path is None or not path.is_file():
        return []
    raw: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Row(**{**one, **{way: Distance(**one[way]) for way in ("low", "other")}}) for one in raw]


if __name__ == "__main__":
    main()
