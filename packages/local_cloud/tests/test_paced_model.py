"""A model slowed to a pace."""

from collections.abc import AsyncGenerator

import pytest
from local_cloud.errors import ModelSpecInvalid
from local_cloud.language_model import Conversation, Turn
from local_cloud.paced_model import PacedModel

ASKED = Conversation("", (Turn("user", "Hello?"),))


class ManualClock:
    """Time that passes by sleeping, and by what a model needs for a token."""

    def __init__(self) -> None:
        self.time_s = 100.0

    def now(self) -> float:
        return self.time_s

    async def sleep_until(self, moment_s: float) -> None:
        self.time_s = max(self.time_s, moment_s)


class Model:
    """Needs `token_s` for each token; remembers what was done to it."""

    def __init__(self, clock: ManualClock, token_s: float) -> None:
        self.calls: list[str] = []
        self._clock = clock
        self._token_s = token_s

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        try:
            for token in ("One", " two", " three", "."):
                self._clock.time_s += self._token_s
                yield token
        finally:
            self.calls.append("stopped")

    async def prepare(self) -> None:
        self.calls.append("prepared")

    async def close(self) -> None:
        self.calls.append("closed")


@pytest.mark.parametrize(
    ("token_s", "moments"),
    [
        (0.0, [0.0, 0.5, 1.0, 1.5]),  # faster than the pace: slowed to it
        (2.0, [2.0, 4.0, 6.0, 8.0]),  # slower: as it is
    ],
)
async def test_pieces_come_at_most_at_the_pace(token_s: float, moments: list[float]) -> None:
    clock = ManualClock()
    came = []
    text = ""
    async for piece in PacedModel(Model(clock, token_s), 2, clock).stream(ASKED):
        came.append(clock.now() - 100)
        text += piece
    assert text == "One two three."
    assert came == moments


async def test_closing_stops_the_model() -> None:
    clock = ManualClock()
    model = Model(clock, 0)
    paced = PacedModel(model, 2, clock)
    await paced.prepare()
    pieces = paced.stream(ASKED)
    await anext(pieces)
    await pieces.aclose()
    await paced.close()
    assert model.calls == ["prepared", "stopped", "closed"]


def test_a_pace_of_nothing_is_refused() -> None:
    with pytest.raises(ModelSpecInvalid, match="above 0"):
        PacedModel(Model(ManualClock(), 0), 0)
