"""Read the calibration texts with the front end, and write the phonemes that `kokoro-weights calibrate` has spoken.

    uv run python tools/calibration_phonemes.py

The phonemes are committed beside the texts, so that a table of statistics depends on the weights and these files alone:
whoever calibrates needs no front end, and a front end that reads a word otherwise next year changes no table.
"""

import json
from pathlib import Path
from typing import Final

from kokoro_weights import prepare
from speech_text import FrontEnd

FOLDER: Final = Path(__file__).parent.parent / "packages/kokoro_weights/src/kokoro_weights/data/calibration"
TEXT_OF_LANGUAGE: Final = {
    "en-us": "en",
    "en-gb": "en",
    **{language: language for language in ("es", "fr", "hi", "it", "ja", "pt-br", "zh")},
}


def main() -> None:
    front_end = FrontEnd(prepare("packages").vocabulary)
    phonemes = {language: read(front_end, language, text) for language, text in TEXT_OF_LANGUAGE.items()}
    target = FOLDER / "phonemes.json"
    target.write_text(json.dumps(phonemes, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for language, sentences in phonemes.items():
        print(f"{language:6} {len(sentences)} sentences, {sum(map(len, sentences))} phonemes")


def read(front_end: FrontEnd, language: str, text: str) -> list[str]:
    """Each sentence's phonemes."""
    sentences = (FOLDER / f"{text}.txt").read_text(encoding="utf-8").splitlines()
    return [" ".join(segment.phonemes for segment in front_end.segments(one, language)) for one in sentences]


if __name__ == "__main__":
    main()
