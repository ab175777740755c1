"""Mode `bidi`: every sentence is spoken as soon as it is written, while the model goes on writing."""

from speech_text import IncrementalSentenceChunker

from .conversation import Conversation
from .request import AgentRequest
from .turn import Services, Turn


def run_bidi(
    request: AgentRequest,
    conversation: Conversation,
    services: Services,
    *,
    language: str = "en",
    first_clause: bool = False,
    request_id: str | None = None,
) -> Turn:
    """One answer, to be taken with `Turn.events`. `first_clause`: see `IncrementalSentenceChunker`."""
    cutter = IncrementalSentenceChunker(language=language, first_clause=first_clause)
    return Turn(request, conversation, services, cutter, request_id)
