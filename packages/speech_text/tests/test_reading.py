"""Filter and normaliser together: the case file, any cut, and the way back to the text as sent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speech_text import IncrementalSentenceChunker, SpeakableFilter
from speech_text.reading import readings, speakable

CASES = json.loads((Path(__file__).parent / "cases" / "speakable.json").read_text(encoding="utf-8"))


def said(text: str) -> list[str]:
    """The words, without the spacing and punctuation between them."""
    return re.findall(r"[^\W_]+(?:['.,][^\W_]+)*", text.lower())


def test_the_case_file_is_whole() -> None:
    assert len(CASES) == 23


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:30] for case in CASES])
def test_a_case_is_read_as_it_should_be_whole_and_one_character_at_a_time(case: dict[str, Any]) -> None:
    text, language = case["text"], case["language"]
    assert said(speakable(text, language)) == said(case["speakable"])
    chunker = IncrementalSentenceChunker(language)
    pieces = [piece for character in text for piece in chunker.feed(character)] + chunker.flush()
    memory = SpeakableFilter()  # of code blocks, which reach over pieces
    outside = [part for piece in pieces if (part := memory.outside_code(piece))]
    assert said(" ".join(speakable(part, language) for part in outside)) == said(case["speakable"])


def test_a_lexicon_word_is_left_alone_and_an_inline_one_too() -> None:
    read = speakable("AWS and [IBM](/a/) and AWS", lexicon={"AWS": "b", "and": "=plus"})
    assert read == "[AWS](/b/) plus [IBM](/a/) plus [AWS](/b/)"


@pytest.mark.parametrize(
    ("language", "sent", "words"),
    [
        ("en-us", "**Pay** €45 by 6:15pm to Dr. Lee at https://x.org/a!", ["€45", "6:15pm", "https://x.org/a"]),
        ("en-gb", "It is 3 km and 12.5% on 29/11/2026.", ["3 km", "12.5%", "29/11/2026"]),
        ("es", "Son 45 € a las 18:15 del 29/11/2026.", ["45 €", "18:15", "29/11/2026"]),
        ("fr", "Il paie 18,4 € à 8 h 30, soit 5 km/h.", ["18,4 €", "8 h 30", "5 km/h"]),
    ],
)
def test_a_rewritten_word_came_from_its_range(language: str, sent: str, words: list[str]) -> None:
    (reading,) = readings(sent, language)
    origins = {reading.text.range(*found.span()) for found in re.finditer(r"\S+", reading.text.text)}
    for word in words:
        start = sent.index(word)
        assert any(low <= start and start + len(word) <= high for low, high in origins) or any(
            low == start for low, _ in origins
        )


@given(st.text(max_size=80), st.sampled_from(["en-us", "en-gb", "es", "fr", "it", "pt-br", "hi", "ja", "zh"]))
def test_any_text_is_read_in_order(text: str, language: str) -> None:
    last = 0
    for reading in readings(text, language):
        assert list(reading.text.starts) == sorted(reading.text.starts)
        assert reading.text.starts[0] >= last
        last = reading.text.starts[0]
        assert all(
            0 <= low <= high <= len(text) for low, high in zip(reading.text.starts, reading.text.ends, strict=True)
        )


@given(
    st.lists(
        st.sampled_from(
            [
                "$1.50",
                "5-7pm",
                "11/29/2026",
                "3/4",
                "AWS",
                "Dr.",
                "St.",
                "10%",
                "-3°C",
                "5x7",
                "v1.2.3",
                "(415)555-0123",
                "a.m.",
                "e.g.",
                "XIV",
                "€",
                "½",
                ":",
                "-",
                "/",
                ".",
            ]
        ),
        max_size=12,
    )
)
def test_numbers_and_signs_in_any_order_are_read(parts: list[str]) -> None:
    text = " ".join(parts)
    for language in ("en-us", "es", "hi"):
        for reading in readings(text, language):
            assert reading.text.text.strip()
