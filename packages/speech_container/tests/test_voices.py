"""Voices: names, languages, style rows."""

import numpy as np
import pytest
from speech_container.errors import Refusal
from speech_container.voices import MAX_BLENDS_KEPT, TONE_VOICES, VoiceBook


def test_the_first_letter_is_the_language() -> None:
    book = VoiceBook.of_tones()
    assert [book.language(name) for name in ("af_heart", "bf_emma", "ff_siwis")] == ["en-us", "en-gb", "fr"]


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
    [
        ("af_hart", "'af_hart' is not one of the 54 voices here; did you mean af_heart"),
        ("af_heart(2)+af_bela", "'af_bela' is not one of the 54 voices here; did you mean af_bella"),
        ("../etc", "/v1/audio/voices"),
        ("x" * 256, "/v1/audio/voices"),
    ],
)
def test_an_unknown_voice_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        VoiceBook.of_tones().language(name)
    assert refusal.value.code == "voice_unknown"
    assert hint in refusal.value.message
    assert len(refusal.value.message) < 200


def test_a_blend_is_the_weighted_mean_of_its_voices() -> None:
    book = VoiceBook.of_tones()
    heart, bella = book.style("af_heart", 7), book.style("af_bella", 7)
    mixed = book.style("af_heart(2) + af_bella(1)", 7)
    assert np.allclose(mixed, (2 * heart + bella) / 3, atol=1e-5)
    assert mixed.dtype == np.float32
    assert np.array_equal(book.style("af_bella+af_heart(2)", 7), mixed)
    assert np.array_equal(book.style("af_heart(5)", 7), heart)


def test_a_blend_speaks_the_language_of_its_heaviest_voice() -> None:
    book = VoiceBook.of_tones()
    assert book.language("ff_siwis+af_heart(2)") == "en-us"
    assert book.language("bf_emma+af_heart") == "en-gb"


def test_only_so_many_blends_are_kept() -> None:
    reads: list[str] = []

    def read(name: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        reads.append(name)
        return np.zeros((510, 256), dtype=np.float32)

    book = VoiceBook(["a", "b"], read)
    kept = book.style("a+b", 1).base
    for weight in range(2, MAX_BLENDS_KEPT + 1):
        book.style(f"a+b({weight})", 1)
        assert book.style("b+a", 1).base is kept
    book.style("a(9)+b(8)", 1)
    book.style("a(7)+b(8)", 1)
    assert book.style("a+b", 1).base is kept, "what was used last stays"
    assert book.style("a+b(2)", 1).base is not kept
    assert reads == ["a", "b"]


def test_a_card_tells_language_and_gender() -> None:
    cards = {card.name: card for card in VoiceBook.of_tones().cards}
    assert (cards["jm_kumo"].language, cards["jm_kumo"].gender) == ("ja", "male")
    assert (cards["bf_emma"].language, cards["bf_emma"].gender) == ("en-gb", "female")
    (odd,) = VoiceBook(["x"], lambda _: np.zeros((510, 256), dtype=np.float32)).cards
    assert (odd.language, odd.gender) == ("en-us", None)


@pytest.mark.weights
def test_the_tone_engine_has_kokoros_names() -> None:
    from kokoro_weights import prepare

    weights = prepare("packages")
    assert weights.voice_names == TONE_VOICES
    mixed = VoiceBook.of_weights(weights).style("af_heart+am_adam(3)", 20)
    expected = (weights.voice("af_heart")[19] + 3 * weights.voice("am_adam")[19]) / 4
    assert np.allclose(mixed, expected, atol=1e-6)
