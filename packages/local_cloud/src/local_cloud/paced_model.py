"""A language model slowed to the pace of a larger one elsewhere.

The packaged model is small and writes 40 tokens a second with all of a core. A model behind Amazon Bedrock writes about
20, and with nobody's core but its own. Slowed, the small one leaves this machine's cores to the voice between its
tokens, as Bedrock would.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from local_cloud.errors import ModelSpecInvalid
from local_cloud.language_model import Conversation, LanguageModel
from local_cloud.script_model import Clock, LoopClock


class PacedModel:
    """`model`, with at most `tokens_per_second` pieces a second; what comes late is not made up for."""

    def __init__(self, model: LanguageModel, tokens_per_second: float, clock: Clock | None = None) -> None:
        if not tokens_per_second > 0:
            raise ModelSpecInvalid(f"expected a rate above 0 tokens a second, got {tokens_per_second:g}")
        self.model = model
        self._interval_s = 1 / tokens_per_second
        self._clock = clock or LoopClock()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        due_s = self._clock.now()
        async with aclosing(self.model.stream(conversation)) as pieces:
            async for piece in pieces:
                await self._clock.sleep_until(due_s)
                yield piece
                due_s = max(due_s, self._clock.now()) + self._interval_s

    async def prepare(self) -> None:
        """Load the model."""
        await self.model.prepare()

    async def close(self) -> None:
        """Give back what the model holds."""
        await self.model.close()
