"""Mode `batch`: the whole text first, then one synthesis of it. The baseline that `bidi` is compared with, so it gets
the same help: the same session, opened as early, the same text, the same events.
"""

from collections.abc import AsyncGenerator

from .events import AgentEvent
from .request import AgentRequest
from .turn import Services, run_turn


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
    request: AgentRequest, services: Services, *, request_id: str | None = None
) -> AsyncGenerator[AgentEvent]:
    """The events of one answer (see `events`). Close the generator, or cancel who iterates it, to stop everything."""
    return run_turn(request, services, WholeText(), request_id)
