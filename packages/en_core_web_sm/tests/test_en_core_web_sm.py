"""misaki finds its model under the name it asks for, so it never downloads one."""

import spacy
import spacy.util


def test_spacy_knows_the_package_by_the_name_that_misaki_asks_for() -> None:
    assert spacy.util.is_package("en_core_web_sm")


def test_the_model_tags_words() -> None:
    pipeline = spacy.load("en_core_web_sm", enable=["tok2vec", "tagger"])
    assert [token.tag_ for token in pipeline("He reads it.")] == ["PRP", "VBZ", "PRP", "."]
