"""Voices: names, languages, style rows."""

import numpy as np
import pytest
from speech_container.errors import Refusal
from speech_container.voices import VoiceBook


def test_the_first_letter_is_the_language() -> None:
    book = VoiceBook.of_tones()
    assert [book.language(name) for name in ("af_heart", "bf_emma", "ff_siwis")] == ["en-us", "en-gb", "fr-fr"]


def test_a_style_is_the_row_for_the_number_of_tokens() -> None:
    rows = np.arange(510 * 256, dtype=np.float32).reshape(510, 256)
    reads: list[str] = []

    def read(name: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        reads.append(name)
        return rows

    book = VoiceBook(["af_x"], read)
    assert np.array_equal(book.style("af_x", 1), rows[0])
    assert np.array_equal(book.style("af_x", 510), rows[509])
    assert reads == ["af_x"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("af_hart", "did you mean af_heart"), ("alloy", "/v1/audio/voices"), ("../etc", "/v1"), ("x" * 256, "/v1")],
)
def test_an_unknown_voice_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        VoiceBook.of_tones().language(name)
    assert refusal.value.code == "voice_unknown"
    assert hint in refusal.value.message
    assert len(refusal.value.message) < 200
