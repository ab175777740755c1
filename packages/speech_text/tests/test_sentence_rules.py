"""The tables are consistent: a word is in one group, in lower case, without its stop."""

import pytest
from speech_text import LanguageUnsupported
from speech_text.languages import SENTENCE_LANGUAGES
from speech_text.sentence_rules import rules_for


@pytest.mark.parametrize("language", SENTENCE_LANGUAGES)
def test_every_abbreviation_is_in_one_group(language: str) -> None:
    rules = rules_for(language)
    groups = [rules.attached, rules.named, rules.upper]
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    for word in frozenset().union(*groups, rules.numbered):
        assert word == word.lower()
        assert "." not in word


def test_a_variety_has_its_languages_rules() -> None:
    assert rules_for("pt-BR") is not None
    assert rules_for("en_GB").language == "en"
    with pytest.raises(LanguageUnsupported):
        rules_for("xx")
