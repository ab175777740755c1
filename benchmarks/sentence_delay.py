"""How long each way of cutting streamed text waits after a sentence has ended, in characters of text.

Runs the case set of `packages/speech_text/tests/cases/sentences.json` one character at a time through our chunker and
through the rules of two others, as their users describe them:

- pipecat: at a stop, once the next character that is no space is there (in newer versions: the whole next word), if its
  segmenter agrees that a sentence ended;
- livekit: the first sentence goes when the buffer holds a second one; one shorter than 20 characters is joined to the
  next first.

Their segmenters are taken to be perfect wherever a stop stands: they know the ends in the case file. So their accuracy
here is the best they could have, and the delay is the rule's own. `--write FILE` puts the table between the markers in
a document.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from speech_text import IncrementalSentenceChunker

ROOT = Path(__file__).parent.parent
CASES = ROOT / "packages/speech_text/tests/cases/sentences.json"
STOPS = ".!?…。！？।"
SHORTEST_CHARS = 20
BEGIN, END = "<!-- delay table -->", "<!-- end of delay table -->"


@dataclass(frozen=True)
class Text:
    """One case: the text, its language, and where its sentences end (index after the last character)."""

    language: str
    text: str
    ends: tuple[int, ...]

    @property
    def sentences(self) -> list[str]:
        starts = (0, *self.ends[:-1])
        return [self.text[start:end].strip() for start, end in zip(starts, self.ends, strict=True)]


#: What a rule gives: the pieces and, for each, after how many characters of the text it came out.
Emitted = list[tuple[str, int]]


@dataclass(frozen=True)
class Score:
    name: str
    right: int
    cases: int
    delays: tuple[int, ...]


def read_cases() -> list[Text]:
    texts = []
    for case in json.loads(CASES.read_text(encoding="utf-8")):
        ends, at = [], 0
        for sentence in case["sentences"]:
            at = case["text"].index(sentence, at) + len(sentence)
            ends.append(at)
        texts.append(Text(case["language"], case["text"], tuple(ends)))
    return texts


def ours(case: Text) -> Emitted:
    chunker = IncrementalSentenceChunker(case.language)
    emitted = [(piece, seen) for seen, character in enumerate(case.text, start=1) for piece in chunker.feed(character)]
    return emitted + [(piece, len(case.text)) for piece in chunker.flush()]


def pipecat(case: Text, *, whole_word: bool) -> Emitted:
    emitted: Emitted = []
    start = 0
    stopped = [end for end in case.ends if any(mark in STOPS for mark in case.text[max(0, end - 3) : end])]
    for end in stopped:
        following = next((i for i in range(end, len(case.text)) if not case.text[i].isspace()), None)
        if following is None:
            break
        if whole_word:
            spaces = (i for i in range(following, len(case.text)) if case.text[i].isspace())
            following = next(spaces, len(case.text) - 1)
        emitted.append((case.text[start:end].strip(), following + 1))
        start = end
    return [*emitted, (case.text[start:].strip(), len(case.text))]


def livekit(case: Text) -> Emitted:
    """Both of the first two sentences in the buffer must be complete and long enough for the first to go."""
    joined: list[tuple[int, int]] = []
    start = 0
    for end in case.ends:
        if len(case.text[start:end].strip()) >= SHORTEST_CHARS or end == case.ends[-1]:
            joined.append((start, end))
            start = end
    emitted: Emitted = []
    for (low, high), following in zip(joined, [*joined[1:], None], strict=True):
        seen = len(case.text) if following is None else min(following[1] + 1, len(case.text))
        emitted.append((case.text[low:high].strip(), seen))
    return emitted


def score(name: str, rule: Callable[[Text], Emitted], cases: Sequence[Text]) -> Score:
    """Delays of every end but the last of a text, which comes with the end of the stream in every rule."""
    right, delays = 0, []
    for case in cases:
        emitted = rule(case)
        right += [piece for piece, _ in emitted] == case.sentences
        for end in case.ends[:-1]:
            at = 0
            for piece, seen in emitted:
                at = case.text.index(piece, at) + len(piece)
                if at >= end:
                    delays.append(max(0, seen - end))
                    break
    return Score(name, right, len(cases), tuple(delays))


def measure() -> list[Score]:
    cases = read_cases()
    return [
        score("ours", ours, cases),
        score("pipecat, next character", lambda case: pipecat(case, whole_word=False), cases),
        score("pipecat, next word", lambda case: pipecat(case, whole_word=True), cases),
        score("livekit", livekit, cases),
    ]


def table(scores: Sequence[Score]) -> str:
    lines = ["| rule | texts right | mean delay | worst delay |", "|---|---|---|---|"]
    for one in scores:
        mean = statistics.mean(one.delays)
        lines.append(f"| {one.name} | {one.right} of {one.cases} | {mean:.1f} characters | {max(one.delays)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Emission delay of sentence chunking, in characters")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this document")
    options = parser.parse_args()
    made = table(measure())
    print(made)
    if options.write is not None:
        document = options.write.read_text(encoding="utf-8")
        before, _, rest = document.partition(BEGIN)
        _, _, after = rest.partition(END)
        options.write.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
