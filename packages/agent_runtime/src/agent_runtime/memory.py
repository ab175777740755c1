"""What has been said in one conversation, as far as it was heard: bounded, oldest first out.

An answer that was interrupted is remembered up to the last word that the listener heard, so that the model knows what
its listener knows. Only texts are kept: a tool's results are not, the model may ask again.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

DEFAULT_EXCHANGES: Final = 20
MAX_CHARS: Final = 40_000  # about 10,000 tokens: read again by the model with every turn


@dataclass(slots=True, eq=False)
class Exchange:
    """A question, and what was heard of its answer."""

    prompt: str
    answer: str

    @property
    def chars(self) -> int:
        """How much it takes of the memory."""
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True, slots=True)
class Remark:
    """One message of a conversation, as a model is given it."""

    is_users: bool
    text: str


class Memory:
    """At most `max_exchanges` of at most `max_chars` characters together; 0 exchanges is no memory."""

    def __init__(self, max_exchanges: int = DEFAULT_EXCHANGES, max_chars: int = MAX_CHARS) -> None:
        self._max_chars = max_chars
        self._exchanges: deque[Exchange] = deque(maxlen=max_exchanges)

    def remember(self, prompt: str, answer: str) -> Exchange:
        """Add an exchange. What is returned may still be amended: a listener may interrupt what has all been sent."""
        exchange = Exchange(prompt, answer)
        self._exchanges.append(exchange)
        while self._exchanges and sum(kept.chars for kept in self._exchanges) > self._max_chars:
            self._exchanges.popleft()
        return exchange

    def remarks(self, prompt: str) -> list[Remark]:
        """The conversation up to and with `prompt`. Users and agent take turns, as models want it.

        A question of whose answer nothing was heard is put together with the one that follows it.
        """
        remarks: list[Remark] = []
        asked: list[str] = []
        for exchange in self._exchanges:
            asked.append(exchange.prompt)
            if exchange.answer.strip():
                remarks += [Remark(True, "\n\n".join(asked)), Remark(False, exchange.answer)]
                asked = []
        return [*remarks, Remark(True, "\n\n".join([*asked, prompt]))]
