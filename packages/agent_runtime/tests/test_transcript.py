import pytest
from agent_runtime.transcript import Transcript


def transcript(*marks: tuple[float, int]) -> Transcript:
    made = Transcript()
    for end_s, end_char in marks:
        made.mark(end_s, end_char)
    return made


@pytest.mark.parametrize(("heard_s", "chars"), [(0.0, 0), (0.49, 0), (0.5, 3), (0.996, 7), (5.0, 7)])
def test_a_word_is_heard_once_it_is_over(heard_s: float, chars: int) -> None:
    assert transcript((0.5, 3), (1.0, 7)).chars_heard(heard_s) == chars


def test_nothing_is_heard_of_nothing() -> None:
    assert transcript().chars_heard(10.0) == 0


def test_what_is_said_twice_does_not_take_back_what_was_heard() -> None:
    made = transcript((0.5, 3), (1.0, 7), (1.5, 3), (2.0, 7), (2.5, 12))
    assert [made.chars_heard(second) for second in (1.0, 1.5, 2.0, 2.5)] == [7, 7, 7, 12]
