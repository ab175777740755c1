"""Which writer and which voice the settings mean, joined into the two functions that serve callers: one makes a
conversation, the other answers in it.
"""

import ssl
from collections.abc import Callable

from speech_client import KeptSession, SageMakerTransport, SpeechUsageError, Transport, WebSocketTransport

from .batch import run_batch
from .bidi import run_bidi
from .conversation import Conversation
from .errors import SettingsError
from .memory import Memory
from .model import BedrockWriter
from .request import AgentRequest
from .settings import Settings
from .turn import Services, Turn

Answer = Callable[[AgentRequest, Conversation, str], Turn]
"""The request, whose conversation it is part of, and the id that logs know it by."""


class VoiceAgent:
    """What a process serves. Reaches out to nothing before its first question. Raises `SettingsError`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._transport = make_transport(settings)
        self._services = Services(BedrockWriter(settings).write)

    def converse(self) -> Conversation:
        """A new conversation."""
        return Conversation(Memory(self._settings.memory_exchanges), KeptSession(self._transport))

    def answer(self, request: AgentRequest, conversation: Conversation, request_id: str) -> Turn:
        """One answer."""
        if request.mode == "batch":
            return run_batch(request, conversation, self._services, request_id=request_id)
        return run_bidi(
            request,
            conversation,
            self._services,
            language=self._settings.language,
            first_clause=self._settings.first_clause,
            request_id=request_id,
        )


def make_transport(settings: Settings) -> Transport:
    """The way to the voice: a SageMaker endpoint, or a speech container's WebSocket."""
    try:
        if settings.speech_websocket_url is not None:
            trusted = ssl.create_default_context(cafile=settings.speech_ca_file) if settings.speech_ca_file else None
            return WebSocketTransport(settings.speech_websocket_url, ssl_context=trusted)
        return SageMakerTransport(
            settings.speech_endpoint_name or "",
            settings.region,
            endpoint_uri=settings.speech_endpoint_uri,
            ca_file=settings.speech_ca_file,
        )
    except (SpeechUsageError, ssl.SSLError) as error:
        raise SettingsError(f"the way to the voice cannot be set up as configured: {error}") from error
