"""Five languages through espeak: the symbols are the voice's, and words find their sounds."""

import re
from pathlib import Path

import pytest
from misaki.espeak import EspeakG2P
from speech_text import KOKORO_SYMBOLS, FrontEnd
from speech_text.world import ESPEAK_NAMES

SENTENCES = {
    "es": ("Hola, ¿qué tal? Son 45 € a las 18:15.", "45 €", "kwaɾˈɛnta i θˈinko ˈeʊɾos"),
    "fr": ("Les amis sont arrivés à 8 h 30, n'est-ce pas ?", "8 h 30", "yˈit ˈœʁ tʁˈɑ̃t"),
    "it": ("L'amico paga 12 € e va bene.", "12 €", "dˈodiʧɪ ˈɛʊro"),
    "pt-br": ("O senhor paga R$ 3 às 14h.", "14h", "kˌatˈoɾəzy ˈɔɾæs"),
    "hi": ("नमस्ते, यह ₹45 का है।", "₹45", "pIntˈaːlis ɾˈʊpˌeː"),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_rewritten_word_is_one_word_with_all_its_sounds(front_end: FrontEnd, language: str) -> None:
    sent, word, phonemes = SENTENCES[language]
    for segment in front_end.segments(sent, language):
        assert set(segment.phonemes) <= KOKORO_SYMBOLS
        assert not segment.unsupported
        for found in segment.words:
            assert found.text == sent[found.start_char : found.end_char]
            if found.text == word:
                assert segment.phonemes[found.phoneme_start : found.phoneme_end] == phonemes
                return
    pytest.fail(f"{word} is not a word of the answer")


def test_liaison_is_the_sentences(front_end: FrontEnd) -> None:
    (segment,) = front_end.segments("Les amis", "fr")
    assert segment.phonemes == "lez amˈi"


def test_a_decimal_is_not_two_clauses(front_end: FrontEnd) -> None:
    assert "," not in front_end.segments("Il paie 18,4 euros", "fr")[0].phonemes


def test_other_scripts_are_reported(front_end: FrontEnd) -> None:
    (segment,) = front_end.segments("Dice 你好 siempre", "es")
    assert [word.text for word in segment.words] == ["Dice", "siempre"]
    assert segment.unsupported == ("你好",)


def test_a_lexicon_works_in_every_language(front_end: FrontEnd) -> None:
    (segment,) = front_end.segments("El Kokoro habla", "es", lexicon={"kokoro": "kˈokoɾo"})
    assert segment.phonemes.split()[1] == "kˈokoɾo"


@pytest.mark.parametrize("language", ["es", "fr"])
def test_plain_sentences_are_said_as_espeak_says_them(front_end: FrontEnd, language: str) -> None:
    """Fifty sentences without numbers or markup: what the pipeline adds for word times changes no sound."""
    name = {"es": "spanish.txt", "fr": "french.txt"}[language]
    sentences = (Path(__file__).parent / "cases" / name).read_text(encoding="utf-8").splitlines()
    assert len(sentences) == 50
    espeak = EspeakG2P(ESPEAK_NAMES[language])
    for sentence in sentences:
        expected, _ = espeak(sentence)
        (segment,) = front_end.segments(sentence, language)
        assert only_sounds(segment.phonemes) == only_sounds(expected), sentence


def only_sounds(phonemes: str) -> list[str]:
    """The sounds by word, without punctuation. `¿` and `¡` are in espeak's answer but not in the voice's alphabet."""
    return re.findall(r"[^\s;:,.!?—…\"()“”¿¡]+", phonemes)
