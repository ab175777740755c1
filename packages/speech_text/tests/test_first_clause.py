"""The first clause goes out alone only if it stands and more follows."""

import pytest
from speech_text.first_clause import judge
from speech_text.sentence_end import Ends, Goes, More


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("When it had rained all day, we went out", Ends),
        ("When it had rained all day, we", More),
        ("When it had rained all day, sure.", Goes),
        ("Well then, that is all there is", Goes),
        ("It was about 1,000 of them there", Goes),
        ("When it had rained all day,", More),
        ("今天下了一整天的大雨，我们还是决定出去走走吧", Ends),
        ("今天下雨，我们还是决定出去走走吧", Goes),
    ],
)
def test_the_clause_is_judged(text: str, kind: type) -> None:
    mark = next(i for i, character in enumerate(text) if character in ",，")
    assert isinstance(judge(text, 0, mark, len(text), False, ()), kind)


def test_a_clause_inside_brackets_is_none() -> None:
    text = "When (as it had rained all day, you see) we went"
    assert isinstance(judge(text, 0, text.index(","), len(text), False, (")",)), Goes)
