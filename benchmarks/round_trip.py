"""Said and heard: sentences with numbers, times, money and names, spoken by Kokoro and written down by whisper.

Each sentence goes through the front end and an engine on this machine (`--engine`), and whisper tiny.en listens. Both
sides are read by the normaliser and numbers are put in words, so that "6:15pm" and "6:15 p.m." count as the same words.
Printed: what was heard otherwise, the word error rate, and whether a sentence lost its last word. About four minutes.

    uv run python -m benchmarks.round_trip [--engine auto] [--short]

`--short` measures answers of one to three words, as the front end gives them and in three ways that are advised for
Kokoro: a pause before, a pause after, the style row of a longer text. Whisper cannot tell "Hi" from "high" or "Will
do" from "We'll do".
"""

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from num2words import num2words
from numpy.typing import NDArray
from speech_container.engine import Utterance
from speech_container.pcm import pcm16
from speech_container.settings import ENGINE_NAMES, EngineName, Settings
from speech_container.studio import open_studio, open_weights, with_engine
from speech_text import FrontEnd, voice_language
from speech_text.reading import speakable

from tests.hearing import heard_text, word_errors

ROOT = Path(__file__).parent.parent
SENTENCES = ROOT / "packages/speech_text/tests/cases/round_trip.txt"
VOICE = "af_heart"
UTTERANCES = (
    "Okay.",
    "On it.",
    "Yes.",
    "No.",
    "Sure.",
    "Hi!",
    "Done.",
    "Right.",
    "Got it.",
    "Great!",
    "One moment.",
    "Go.",
    "It is.",
    "Me too.",
    "Will do.",
)
VOICES = ("af_heart", "bf_emma")
LONGER_ROW = 40
#: whisper writes some times as "6.15pm" and "at 5.30".
_POINT_TIME = re.compile(r"(?<![$£\d])\b(\d{1,2})\.([0-5]\d)(?=\s*[ap]\.?m|[.,]?$|\s)")


@dataclass(frozen=True)
class Heard:
    """One sentence: as written, its words, and the words that were heard."""

    sentence: str
    wanted: list[str]
    got: list[str]

    @property
    def errors(self) -> int:
        return word_errors(self.wanted, self.got)

    @property
    def lost_its_end(self) -> bool:
        """Whether nothing like the last word was heard at the end."""
        return bool(self.wanted) and self.wanted[-1][:3] not in {word[:3] for word in self.got[-3:]}


def words(text: str) -> list[str]:
    """The words of a text with numbers in words and no punctuation."""
    read = speakable(text).lower().replace("’", "'").replace("-", " ").replace(",", "")
    read = re.sub(r"\b(\d+)(st|nd|rd|th)\b", lambda found: str(num2words(int(found[1]), to="ordinal")), read)
    read = re.sub(r"\b(?:19|20)\d\d\b", lambda found: str(num2words(int(found[0]), to="year")), read)
    read = re.sub(r"\d+(?:\.\d+)?", lambda found: str(num2words(found[0])), read)
    return re.findall(r"[a-z']+", read.replace("-", " ").replace(" and ", " "))


class Listener:
    """Speaks through the front end and an engine, and hears what a small whisper hears."""

    def __init__(self, engine: EngineName) -> None:
        settings = with_engine(Settings(engine=engine, threads=2))
        self._weights = open_weights(settings)
        self._engine = open_studio(settings).engine
        self._engine.load()
        print(f"engine {self._engine.name}")
        self.front_end = FrontEnd(self._weights.vocabulary)

    def speak(self, phonemes: str, voice: str = VOICE, row: int | None = None) -> NDArray[np.float32]:
        """float32 [samples] at 24 kHz; `row` is the style row, the one of the length if None."""
        ids = tuple(self._weights.vocabulary[symbol] for symbol in phonemes)
        style = self._weights.voice(voice)[len(ids) - 1 if row is None else row]
        (waveform,) = self._engine.synthesize([Utterance(ids, style)])
        return waveform.samples

    def hear(self, audio: NDArray[np.float32]) -> str:
        """What whisper writes down, its "6.15pm" as "6:15pm"."""
        return _POINT_TIME.sub(r"\1:\2", heard_text(pcm16(audio)))

    def trip(self, sentence: str) -> Heard:
        """There and back."""
        audio = [self.speak(segment.phonemes) for segment in self.front_end.segments(sentence)]
        return Heard(sentence, words(sentence), words(self.hear(np.concatenate(audio))))


@dataclass
class Way:
    """One way to say it, and how it fared."""

    name: str
    change: Callable[[str], str]
    row: int | None = None
    right: int = 0
    lengths: list[float] = field(default_factory=list)


def short_utterances(listener: Listener) -> list[Way]:
    """Each utterance in each way."""
    ways = [
        Way("plain", str),
        Way("pause before", lambda phonemes: f"… {phonemes}"),
        Way("pause after", lambda phonemes: f"{phonemes}…"),
        Way("style of a longer text", str, row=LONGER_ROW),
    ]
    for voice in VOICES:
        for utterance in UTTERANCES:
            (segment,) = listener.front_end.segments(utterance, voice_language(voice))
            plain_samples = 0
            for way in ways:
                samples = listener.speak(way.change(segment.phonemes), voice, way.row)
                plain_samples = plain_samples or len(samples)
                way.lengths.append(len(samples) / plain_samples)
                way.right += words(listener.hear(samples)) == words(utterance)
    return ways


def sentences(listener: Listener) -> None:
    """Print what was heard otherwise, the error rate, and lost last words."""
    results = [listener.trip(sentence) for sentence in SENTENCES.read_text(encoding="utf-8").splitlines()]
    for one in results:
        if one.errors:
            print(f"{one.errors}  {one.sentence}")
            print(f"     wanted: {' '.join(one.wanted)}\n     heard:  {' '.join(one.got)}")
    errors = sum(one.errors for one in results)
    total = sum(len(one.wanted) for one in results)
    lost = [one.sentence for one in results if one.lost_its_end]
    print(f"{errors} of {total} words wrong ({errors / total:.1%}) in {len(results)} sentences")
    print(f"last word lost in {len(lost)} sentences")
    for sentence in lost:
        print(f"  lost: {sentence}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Sentences said by Kokoro and heard by whisper")
    parser.add_argument("--short", action="store_true", help="measure answers of one to three words instead")
    parser.add_argument("--engine", choices=ENGINE_NAMES, default="auto")
    arguments = parser.parse_args()
    listener = Listener(arguments.engine)
    if not arguments.short:
        sentences(listener)
        return
    for way in short_utterances(listener):
        asked = len(way.lengths)
        span = f"{min(way.lengths):.2f} to {max(way.lengths):.2f}"
        print(f"{way.name:<24}{way.right:>3} of {asked} heard   length × {span}")


if __name__ == "__main__":
    main()
