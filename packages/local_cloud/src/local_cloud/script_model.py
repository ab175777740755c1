"""A language model that recites: the same text at a fixed rate, so that what comes after it can be tested and measured.

Tokens are due on one absolute schedule, so the rate holds however long the consumer takes between them and however
coarse the clock: a late token does not make the next one later."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Protocol

from local_cloud.errors import ModelSpecInvalid
from local_cloud.language_model import Conversation

_TOKEN = re.compile(r"\s*\S{1,5}|\s+")
"""A word with the space before it, long ones in pieces: 3 to 5 characters a token in prose, as real tokenizers have
it.
"""


class Clock(Protocol):
    """Time in seconds from any start, and waiting for a moment of it."""

    def now(self) -> float: ...

    async def sleep_until(self, moment_s: float) -> None: ...


class LoopClock:
    """The event loop's own monotonic clock."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep_until(self, moment_s: float) -> None:
        await asyncio.sleep(max(0.0, moment_s - self.now()))


def tokens(text: str) -> list[str]:
    """Cut `text` into pieces of about four characters that, joined, are `text` again."""
    return _TOKEN.findall(text)


class ScriptModel:
    """Answers every conversation with `text`, `tokens_per_second` tokens a second, the first after one token's time."""

    def __init__(self, text: str, tokens_per_second: float, clock: Clock | None = None) -> None:
        if not tokens_per_second > 0:
            raise ModelSpecInvalid(f"expected a rate above 0 tokens a second, got {tokens_per_second:g}")
        self._tokens = tokens(text)
        self._tokens_per_second = tokens_per_second
        self._clock = clock or LoopClock()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        began_s = self._clock.now()
        for number, token in enumerate(self._tokens, start=1):
            await self._clock.sleep_until(began_s + number / self._tokens_per_second)
            yield token

    async def prepare(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to give back."""
