"""The verdict at a stop, and how much of the next word it needs."""

import pytest
from speech_text.sentence_end import Ends, Goes, More, judge
from speech_text.sentence_rules import rules_for


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Done.", More),
        ("Done. ", More),
        ("Done. N", Ends),
        ("Done. n", Ends),
        ("Done. (", Ends),
        ("Done.)", More),
        ("Dr. ", More),
        ("Dr. V", Goes),
        ("in the U.K. ", More),
    ],
)
def test_it_answers_as_soon_as_it_can(text: str, kind: type) -> None:
    stop = text.rindex(".")
    assert isinstance(judge(text, 0, stop, len(text), False, (), rules_for("en")), kind)


def test_an_initialism_waits_for_the_end_of_the_next_word() -> None:
    rules = rules_for("en")
    text = "In the U.S. They left"
    stop = text.index(". T")
    answers = [judge(text, 0, stop, end, False, (), rules) for end in range(stop + 1, len(text))]
    assert [type(answer) for answer in answers] == [More] * 6 + [Ends] * (len(answers) - 6)


@pytest.mark.parametrize("text", ["It is. So", "Mr. So", "the U.S. So it", '"No." So', "3.5 So", "a.b So", "Hm... so"])
def test_an_answer_never_changes(text: str) -> None:
    rules = rules_for("en")
    stop = text.index(".")
    answers = [judge(text, 0, stop, end, False, (), rules) for end in range(stop + 1, len(text) + 1)]
    given = [answer for answer in answers if not isinstance(answer, More)]
    assert given
    assert all(answer == given[0] for answer in given)
