import pytest
from local_cloud.language_model import Conversation, Turn
from local_cloud.llama_text import (
    MAX_HISTORY_CHARS,
    MAX_SENTENCES,
    MIN_SENTENCES,
    PREAMBLE,
    WIND_UP_TOKENS,
    Answer,
    frame,
)


def written(text: str) -> Answer:
    answer = Answer()
    for word in text.split(" "):
        answer.take(f" {word}")
    return answer


def test_a_question_continues_the_dialogue() -> None:
    asked = Conversation("Be brief.", (Turn("user", "Why is\nthe sky blue?"),))
    assert frame(asked) == "\nListener: Why is the sky blue?\nTeacher:"
    assert PREAMBLE.endswith(".\n")


def test_earlier_turns_are_part_of_the_dialogue() -> None:
    turns = (Turn("user", "Hello."), Turn("assistant", "Hello!"), Turn("user", "Who are you?"))
    assert frame(Conversation("", turns)) == "\nListener: Hello.\nTeacher: Hello!\n\nListener: Who are you?\nTeacher:"


def test_a_long_history_loses_its_beginning_and_a_long_question_its_end() -> None:
    turns = (Turn("user", "old " * 1000), Turn("assistant", "Yes."), Turn("user", "New?"))
    assert frame(Conversation("", turns)) == "\nTeacher: Yes.\n\nListener: New?\nTeacher:"
    framed = frame(Conversation("", (Turn("user", "long " * 1000),)))
    assert len(framed) < MAX_HISTORY_CHARS + 20
    assert framed.endswith("Teacher:")


def test_an_answer_may_end_after_enough_whole_sentences() -> None:
    sentence = "It is 3.5 metres."
    enough = " ".join([sentence] * MIN_SENTENCES)
    assert not written(" ".join([sentence] * (MIN_SENTENCES - 1))).may_end
    assert not written(enough.removesuffix(".")).may_end
    assert written(enough).may_end
    assert written(enough[:-1] + "!”").may_end


def test_a_long_answer_ends_between_sentences_only() -> None:
    long = written(" ".join(["Yes."] * MAX_SENTENCES))
    assert long.ends_before(" And")
    assert long.ends_before("")
    assert not long.ends_before("”")
    assert not written(" ".join(["Yes."] * (MAX_SENTENCES - 1))).ends_before(" And")
    winding = written(" ".join(["word"] * WIND_UP_TOKENS) + ".")
    assert winding.ends_before(" And")
    assert not written(" ".join(["word"] * WIND_UP_TOKENS)).ends_before(" and")


def test_an_answer_begins_without_space_and_keeps_the_rest() -> None:
    answer = Answer()
    assert [answer.take(piece) for piece in ("  ", " The", " sky", " ", "is")] == ["", "The", " sky", " ", "is"]


@pytest.mark.parametrize(("text", "rest"), [("The sky is", "."), ("The sky is blue.", ""), ('"Blue!"', "")])
def test_what_was_cut_off_gets_its_full_stop(text: str, rest: str) -> None:
    assert written(text).rest() == rest


def test_nothing_written_has_no_rest() -> None:
    assert Answer().rest() == ""
