"""Mode `batch`: the whole text first, then one synthesis of it. The baseline that `bidi` is compared with, so it gets
the same help: the same session, opened as early, the same text, the same events.
"""

from .conversation import Conversation
from .request import AgentRequest
from .turn import Services, Turn


class WholeText:
    """A cutter that keeps everything until the end."""

    def __init__(self) -> None:
        self._deltas: list[str] = []

    def feed(self, delta: str) -> list[str]:
        """Nothing is finished before the end."""
        self._deltas.append(delta)
        return []

    def flush(self) -> list[str]:
        """The whole text without its outer white space, where there is any."""
        text = "".join(self._deltas).strip()
        return [text] if text else []


def run_batch(
    request: AgentRequest, conversation: Conversation, services: Services, *, request_id: str | None = None
) -> Turn:
    """One answer, to be taken with `Turn.events`."""
    return Turn(request, conversation, services, WholeText(), request_id)
