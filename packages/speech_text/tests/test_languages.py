"""Tags as people spell them."""

import pytest
from speech_text import LanguageUnsupported, languages
from speech_text.languages import sentence_language, spoken_language, voice_language


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("en", "en-us"),
        ("EN_us", "en-us"),
        ("en-AU", "en-gb"),
        ("pt", "pt-br"),
        ("fr-CA", "fr"),
        ("cmn", "zh"),
        ("ja", "ja"),
    ],
)
def test_a_spelling_finds_its_language(written: str, spoken: str) -> None:
    assert spoken_language(written) == spoken
    assert spoken in languages()


def test_sentences_are_cut_by_the_same_names() -> None:
    assert sentence_language("cmn") == "zh"
    assert sentence_language("pt_BR") == "pt"


@pytest.mark.parametrize(("voice", "language"), [("af_heart", "en-us"), ("bm_lewis", "en-gb"), ("zf_xiaobei", "zh")])
def test_a_voice_names_its_language(voice: str, language: str) -> None:
    assert voice_language(voice) == language


def test_what_is_unknown_is_refused() -> None:
    for wrong in ("", "xx", "klingon"):
        with pytest.raises(LanguageUnsupported):
            spoken_language(wrong)
        with pytest.raises(LanguageUnsupported):
            sentence_language(wrong)
    with pytest.raises(LanguageUnsupported):
        voice_language("heart")
