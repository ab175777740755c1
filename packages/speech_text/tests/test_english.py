"""The English engine: what is put around misaki."""

import pytest
from speech_text.english import EnglishPronouncer
from speech_text.spoken import Override


@pytest.fixture(scope="module")
def american() -> EnglishPronouncer:
    return EnglishPronouncer(british=False)


def test_tokens_cover_the_text_in_order(american: EnglishPronouncer) -> None:
    text = 'He said "Stop." Then x9y and café, don\'t you know?'
    spoken = american(text)
    at = 0
    for token in spoken:
        assert not text[at : token.start].strip()
        at = token.end
    assert not text[at:].strip()


def test_a_token_that_misaki_passes_over_is_spelled(american: EnglishPronouncer) -> None:
    assert all(token.phonemes for token in american("x9y"))


def test_letters_are_said_by_name_wherever_they_stand(american: EnglishPronouncer) -> None:
    spoken = american("the A W S.", [Override(4, 9, letters=True)])
    assert [(token.start, token.end, token.phonemes) for token in spoken[1:]] == [(4, 9, "ˌAdˌʌbᵊljuˈɛs"), (9, 10, ".")]


def test_language_flags_of_espeak_are_not_said(american: EnglishPronouncer) -> None:
    (token,) = american("नमस्ते")
    assert "(" not in token.phonemes


def test_a_script_that_espeak_only_names_is_unknown(american: EnglishPronouncer) -> None:
    (token,) = american("你好")
    assert token.unknown
    assert not token.phonemes
