"""Said and heard: sentences with numbers, times, money and names, spoken by Kokoro and written down by whisper.

Each sentence goes through the front end and the int8 model on this machine, and whisper tiny.en listens. Both sides are
read by the normaliser and numbers are put in words, so that "6:15pm" and "6:15 p.m." count as the same words. Printed:
what was heard otherwise, the word error rate, and whether a sentence lost its last word. About four minutes.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from num2words import num2words  # type: ignore[import-untyped] # it ships no types

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from hearing import heard_text, word_errors  # noqa: E402 - the tests' own listener
from kokoro_weights import prepare  # noqa: E402
from speech_container.engine import Utterance  # noqa: E402
from speech_container.onnx_engine import OnnxEngine  # noqa: E402
from speech_text import FrontEnd  # noqa: E402
from speech_text.reading import speakable  # noqa: E402

SENTENCES = ROOT / "packages/speech_text/tests/cases/round_trip.txt"
VOICE = "af_heart"
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


def listen(sentences: Iterable[str]) -> list[Heard]:
    """Speak each sentence and write down what is heard."""
    weights = prepare("packages")
    if weights.onnx_model is None:
        raise SystemExit("the packaged weights hold no ONNX model")
    engine = OnnxEngine(weights.onnx_model, threads=2)
    engine.load()
    front_end = FrontEnd(weights.vocabulary)
    style = weights.voice(VOICE)
    result = []
    for sentence in sentences:
        parts = []
        for segment in front_end.segments(sentence):
            ids = tuple(weights.vocabulary[symbol] for symbol in segment.phonemes)
            (waveform,) = engine.synthesize([Utterance(ids, style[len(ids) - 1])])
            parts.append(waveform.samples)
        pcm = (np.clip(np.concatenate(parts), -1, 1) * 32767).astype("<i2").tobytes()
        result.append(Heard(sentence, words(sentence), words(_POINT_TIME.sub(r"\1:\2", heard_text(pcm)))))
    return result


def main() -> None:
    results = listen(SENTENCES.read_text(encoding="utf-8").splitlines())
    for one in results:
        if one.errors:
            print(
                f"{one.errors}  {one.sentence}\n     wanted: {' '.join(one.wanted)}\n     heard:  {' '.join(one.got)}"
            )
    errors = sum(one.errors for one in results)
    total = sum(len(one.wanted) for one in results)
    lost = [one.sentence for one in results if one.lost_its_end]
    print(
        f"{errors} of {total} words ({errors / total:.1%}) in {len(results)} sentences; last word lost in {len(lost)}"
    )
    for sentence in lost:
        print(f"  lost: {sentence}")


if __name__ == "__main__":
    main()
