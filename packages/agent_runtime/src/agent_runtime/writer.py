"""What a turn needs of whatever writes its answer: a conversation in, text out as it is written."""

import enum
from collections.abc import AsyncGenerator, Callable, Sequence

from .memory import Remark


class Pause(enum.Enum):
    """The writer stops for something else, a tool for instance. What it has written is whole, and may be spoken."""

    TOOL = "tool"


Write = Callable[[Sequence[Remark]], AsyncGenerator[str | Pause]]
"""Answers the last of the remarks. Raises `ModelError`; closing the generator ends the model's stream."""
