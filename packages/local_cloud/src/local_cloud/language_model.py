"""What the local Bedrock needs of a language model: a conversation in, text out in pieces, and an end on demand."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Turn:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Conversation:
    """The system text (may be empty) and the turns so far; the last one is the user's."""

    system: str
    turns: tuple[Turn, ...]


class LanguageModel(Protocol):
    """Continues conversations. Several streams may be open at once; a model that can run only one makes the others
    wait.
    """

    def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        """The answer, in the pieces in which it is written.

        Closing the generator (`aclose`, which cancelling its consumer does too) stops the model at its next token.

        Raises:
            ModelUnavailable: the model cannot run here; raised before the first piece.
        """
        ...

    async def prepare(self) -> None:
        """Load what the first answer would have to wait for. Raises `ModelUnavailable`."""

    async def close(self) -> None:
        """Stop, and give back what the model holds. A closed model is not used again."""
