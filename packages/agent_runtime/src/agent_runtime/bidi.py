"""Mode `bidi`: every sentence is spoken as soon as it is written, while the model goes on writing."""

from collections.abc import AsyncGenerator

from speech_text import IncrementalSentenceChunker

from .events import AgentEvent
from .request import AgentRequest
from .turn import Services, run_turn


def run_bidi(
    request: AgentRequest, services: Services, *, language: str = "en", request_id: str | None = None
) -> AsyncGenerator[AgentEvent]:
    """The events of one answer (see `events`). Close the generator, or cancel who iterates it, to stop everything."""
    return run_turn(request, services, IncrementalSentenceChunker(language=language), request_id)
