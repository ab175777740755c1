"""What sentences in chunks sound like, beside the same sentences decoded whole: distances, errors, spectrograms.

The distance of bfloat16 from float32 is the measure: the server's engine works in it, and nobody hears that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from kokoro_weights import WeightsDirectory
from speech_container.chunk_plan import EXACT_BELOW_FRAMES
from speech_container.engine import FRAME_SAMPLES, SAMPLE_RATE_HZ, Utterance
from speech_container.pcm import pcm16
from speech_text import FrontEnd, voice_language

from benchmarks.rig.chunked_sound import ChunkedSound, Ways
from benchmarks.rig.limit import Limit, limit_table
from benchmarks.rig.sound import HOP, Distance, levels_db, power
from benchmarks.round_trip import words
from tests.hearing import certainty, heard_text, word_errors

MEL_DB: Final = 1.2
LOUDNESS_DB: Final = 1.0
SEAM: Final = 1e-4


class Phonemes:
    """Texts as the engines get them."""

    def __init__(self, weights: WeightsDirectory) -> None:
        self._weights = weights
        self._front_end = FrontEnd(weights.vocabulary)

    def of(self, text: str, voice: str, speed: float = 1.0) -> list[Utterance]:
        """Utterances of low latency, one a segment. `voice`: one, or several with + between them, in equal parts."""
        names = voice.split("+")
        styles = np.mean([self._weights.voice(name) for name in names], axis=0)
        shares = tuple((name, 1 / len(names)) for name in names)
        utterances = []
        for segment in self._front_end.segments(text, voice_language(names[0])):
            ids = tuple(self._weights.vocabulary[symbol] for symbol in segment.phonemes)
            utterances.append(Utterance(ids, styles[len(ids) - 1], speed, latency="low", voice=shares))
        return utterances


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence in one voice. Distances are to the sentence decoded whole in float32; errors are whisper's.

    `certainty`: the log-probability, in nats, that whisper writes just the text.
    """

    voice: str
    text: str
    frames: int
    chunks: int
    low: Distance
    bfloat16: Distance | None
    served: Distance | None
    seam: float
    words: int
    errors: dict[str, int]
    certainty: dict[str, float]

    @property
    def in_chunks(self) -> bool:
        """Or too short for it, and exact."""
        return self.frames >= EXACT_BELOW_FRAMES

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> "Row":
        """What `dataclasses.asdict` made."""
        distances = {name: Distance(**raw[name]) if raw[name] else None for name in ("low", "bfloat16", "served")}
        return cls(**{**raw, **distances})


def sound(
    made: ChunkedSound, phonemes: Phonemes, voices: Sequence[str], texts: Sequence[str], known: Iterable[Row]
) -> Iterator[Row]:
    """Every sentence in every voice, but for the known ones. Whisper hears those in English."""
    done = {(row.voice, row.text) for row in known}
    for text in texts:
        for voice in voices:
            if (voice, text) not in done:
                (utterance,) = phonemes.of(text, voice)
                yield _row(voice, text, made.of(utterance))


def _row(voice: str, text: str, ways: Ways) -> Row:
    expected = words(text) if voice[0] in "ab" else []
    ours = {"exact": ways.exact, "low": ways.low, "bfloat16": ways.bfloat16, "served": ways.served}
    heard = {name: audio for name, audio in ours.items() if expected and audio is not None}
    return Row(
        voice=voice,
        text=text,
        frames=ways.frames,
        chunks=len(ways.chunks),
        low=Distance.of(ways.exact, ways.low),
        bfloat16=None if ways.bfloat16 is None else Distance.of(ways.exact, ways.bfloat16),
        served=None if ways.served is None else Distance.of(ways.exact, ways.served),
        seam=float(np.abs(ways.low - ways.one_pass).max()),
        words=len(expected),
        errors={name: word_errors(expected, words(heard_text(pcm16(audio)))) for name, audio in heard.items()},
        certainty={name: certainty(audio, text) for name, audio in heard.items()},
    )


def sound_limits(rows: Sequence[Row]) -> list[Limit]:
    """Of the sentences that were made in chunks."""
    rows = [row for row in rows if row.in_chunks]
    mean = _means(rows)
    limits = [
        Limit("mel distance, mean, dB", mean["low"].mel, MEL_DB),
        Limit("loudness of a quarter of a second of speech, largest change, dB", mean["low"].loudness_max, LOUDNESS_DB),
        Limit("seam: in chunks against one pass, largest difference", max(row.seam for row in rows), SEAM),
        Limit("words misheard, against whole sentences", _errors(rows, "low"), _errors(rows, "exact")),
    ]
    if "bfloat16" in mean:
        spectral = Limit("log-spectral distance, mean, dB", mean["low"].spectral, mean["bfloat16"].spectral)
        limits.insert(0, spectral)
        limits.append(Limit("the same in bfloat16", _errors(rows, "served"), _errors(rows, "bfloat16")))
        whole = Limit(
            "words misheard of whole sentences, bfloat16 against float32",
            _errors(rows, "bfloat16"),
            _errors(rows, "exact"),
        )
        limits.append(whole)
    return limits


def _means(rows: Sequence[Row]) -> dict[str, Distance]:
    """Of each way: the mean of everything, but the largest change of loudness."""
    found = {}
    for name in ("low", "bfloat16", "served"):
        distances = [distance for row in rows if isinstance(distance := getattr(row, name), Distance)]
        if distances:
            means = {key: float(np.mean([getattr(d, key) for d in distances])) for key in Distance.__slots__}
            largest = {key: max(getattr(d, key) for d in distances) for key in ("loudness_max", "faint_max")}
            found[name] = replace(Distance(**means), **largest)
    return found


def _errors(rows: Sequence[Row], name: str) -> int:
    return sum(row.errors.get(name, 0) for row in rows)


def certainty_of_a_word(rows: Iterable[Row], name: str) -> float:
    """Whisper's log-probability of the texts, in nats a word."""
    heard = [row for row in rows if row.words]
    return sum(row.certainty[name] for row in heard) / sum(row.words for row in heard)


def by_voice(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """What is kept of each voice: means over its sentences in chunks, the largest changes, and the errors."""
    kept = {}
    for voice in dict.fromkeys(row.voice for row in rows):
        ours = [row for row in rows if row.voice == voice and row.in_chunks]
        if ours:
            kept[voice] = {
                "sentences": len(ours),
                "seam": max(row.seam for row in ours),
                "words": sum(row.words for row in ours),
                "errors": {name: _errors(ours, name) for name in ours[0].errors},
                "certainty": {name: round(certainty_of_a_word(ours, name), 4) for name in ours[0].certainty},
                **{name: asdict(distance) for name, distance in _means(ours).items()},
            }
    return kept


def certainty_line(rows: Sequence[Row]) -> str:
    """Of the sentences that were made in chunks, in every way."""
    rows = [row for row in rows if row.in_chunks]
    names = {"exact": "whole", "low": "in chunks", "bfloat16": "whole in bfloat16", "served": "in chunks in bfloat16"}
    found = (f"{name} {certainty_of_a_word(rows, way):.4f}" for way, name in names.items() if way in rows[0].certainty)
    return f"Whisper's certainty of a word, in nats: {', '.join(found)}."


def sound_table(rows: Sequence[Row], limits: Sequence[Limit]) -> str:
    """In Markdown."""
    columns = (
        "sentences",
        "spectrum",
        "bfloat16's",
        "low in bfloat16",
        "mel",
        "bfloat16's",
        "loudness: mean, most, faint",
    )
    lines = [f"| voice | {' | '.join(columns)} | misheard: whole, low |", f"|---{'|--:' * len(columns)}|---|"]
    for voice, kept in by_voice(rows).items():
        spectral, mel = (
            {name: f"{kept[name][kind]:.2f}" for name in ("low", "bfloat16", "served") if name in kept}
            for kind in ("spectral", "mel")
        )
        loudness = ", ".join(f"{kept['low'][key]:.2f}" for key in ("loudness_mean", "loudness_max", "faint_max"))
        errors = kept["errors"]
        heard = f"{errors['exact']}, {errors['low']} of {kept['words']}" if errors else ""
        cells = (
            *(str(kept["sentences"]), spectral["low"], spectral.get("bfloat16", ""), spectral.get("served", "")),
            *(mel["low"], mel.get("bfloat16", ""), loudness, heard),
        )
        lines.append(f"| `{voice}` | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *limit_table(limits)])


def draw(path: Path, sentences: Mapping[str, Ways]) -> None:
    """Spectrograms of each sentence, whole, in chunks (whose beginnings are marked) and whole in bfloat16."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 2.9 * len(sentences)), layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(sentences), 3, sharex="row", sharey=True, squeeze=False)
    for panels, (voice, ways) in zip(rows, sentences.items(), strict=True):
        loudest = power(ways.exact).max()
        named = {"whole, float32": ways.exact, "in chunks, float32": ways.low, "whole, bfloat16": ways.bfloat16}
        for panel, (name, audio) in zip(panels, named.items(), strict=True):
            if audio is None:
                panel.set_visible(False)
                continue
            levels = levels_db(power(audio), loudest)
            extent = (0.0, levels.shape[0] * HOP / SAMPLE_RATE_HZ, 0.0, SAMPLE_RATE_HZ / 2000)
            image = panel.imshow(levels.T, origin="lower", aspect="auto", extent=extent, cmap="magma", vmin=-60, vmax=0)
            panel.set_title(f"{voice}: {name}", fontsize=10)
            panel.set_ylim(0, 8)
        for begin in np.cumsum(ways.chunks)[:-1] * FRAME_SAMPLES / SAMPLE_RATE_HZ:
            panels[1].axvline(begin, color="white", linewidth=0.8, linestyle=":")
        panels[0].set_ylabel("kHz")
    for panel in rows[-1]:
        panel.set_xlabel("seconds")
    figure.colorbar(image, ax=rows, label="dB below the loudest", shrink=0.8)
    figure.savefig(path, dpi=90)
