from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_cloud.errors import ModelSpecInvalid
from local_cloud.language_model import Conversation, Turn
from local_cloud.script_model import LoopClock, ScriptModel, tokens

ASKED = Conversation("", (Turn("user", "Hello?"),))
PROSE = (
    "The lighthouse keeper climbed the stairs every evening to light the lamp. From the top he could see the ships "
    "that were coming home across the dark sea, and he counted them one by one."
)


class ManualClock:
    """Time that passes only by sleeping, and by what `work` adds between tokens."""

    def __init__(self) -> None:
        self.time_s = 100.0
        self.slept_until: list[float] = []

    def now(self) -> float:
        return self.time_s

    async def sleep_until(self, moment_s: float) -> None:
        self.slept_until.append(moment_s)
        self.time_s = max(self.time_s, moment_s)


@given(st.text())
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text
    assert "" not in tokens(text)


def test_a_token_of_prose_is_about_four_characters() -> None:
    assert 3.5 <= len(PROSE) / len(tokens(PROSE)) <= 5


async def test_tokens_are_due_on_an_absolute_schedule() -> None:
    clock = ManualClock()
    stream: AsyncGenerator[str] = ScriptModel("aa bb cc dd", 10, clock).stream(ASKED)
    assert await anext(stream) == "aa"
    clock.time_s += 0.15  # The consumer is slow: the next token is late, the one after it is on time again.
    assert [piece async for piece in stream] == [" bb", " cc", " dd"]
    assert clock.slept_until == pytest.approx([100.1, 100.2, 100.3, 100.4])
    assert clock.time_s == pytest.approx(100.4)


async def test_the_loops_clock_does_not_sleep_for_what_is_past() -> None:
    clock = LoopClock()
    await clock.sleep_until(clock.now() - 1000)
    assert [p async for p in ScriptModel(PROSE, 1e9).stream(ASKED)] == tokens(PROSE)


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ModelSpecInvalid, match="above 0 tokens a second"):
        ScriptModel("text", rate)
