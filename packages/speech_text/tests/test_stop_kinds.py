"""What stands before a stop."""

import pytest
from speech_text.sentence_rules import rules_for
from speech_text.stop_kinds import Kind, kind_of, token_before


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("en", "It is done.", Kind.PLAIN),
        ("en", "So Dr.", Kind.ATTACHED),
        ("en", "Acme Inc.", Kind.NAMED),
        ("en", "the U.S.", Kind.NAMED),
        ("en", "milk etc.", Kind.UPPER),
        ("en", "No.", Kind.NUMBERED),
        ("en", "9 a.m.", Kind.CLOCK),
        ("en", "9 pm.", Kind.CLOCK),
        ("en", "Maria K.", Kind.INITIAL),
        ("en", "you and I.", Kind.PLAIN),
        ("en", "at p.", Kind.LETTER),
        ("en", "well...", Kind.ELLIPSIS),
        ("en", "well…", Kind.ELLIPSIS),
        ("en", "6 p.m. EST.", Kind.PLAIN),
        ("de", "am 3.", Kind.ORDINAL),
        ("de", "am 3.5.", Kind.ORDINAL),
        ("en", "row 14.", Kind.PLAIN),
        ("es", "5 p. m.", Kind.CLOCK),
        ("fr", "Bonjour M.", Kind.ATTACHED),
        ("hi", "डॉ.", Kind.ATTACHED),
        ("en", "really?", Kind.PLAIN),
    ],
)
def test_it_is_of_that_kind(language: str, text: str, kind: Kind) -> None:
    stop = len(text.rstrip(".…?"))
    assert kind_of(text, 0, stop, len(text), rules_for(language)) is kind


def test_the_token_has_no_opening_marks() -> None:
    text = 'say "**Dr'
    assert token_before(text, 0, len(text)) == (7, "Dr")
