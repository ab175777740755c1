"""Which writer and which voice the settings mean, joined into the one function that answers a request."""

import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager

from speech_client import Deadlines, SageMakerTransport, SpeechSession, SpeechUsageError, Transport, WebSocketTransport

from .batch import run_batch
from .bidi import run_bidi
from .errors import SettingsError
from .events import AgentEvent
from .model import BedrockWriter
from .request import AgentRequest
from .settings import Settings
from .turn import Services

Answer = Callable[[AgentRequest, str], AsyncGenerator[AgentEvent]]  # the request, and the id that logs know it by


def make_answer(settings: Settings) -> Answer:
    """The function that `app.create_app` serves. Raises `SettingsError`; reaches out to nothing yet."""
    transport = make_transport(settings)
    writer = BedrockWriter(settings)

    def open_session() -> AbstractAsyncContextManager[SpeechSession]:
        return SpeechSession.connect(transport, deadlines=Deadlines())

    services = Services(writer.write, open_session)

    def answer(request: AgentRequest, request_id: str) -> AsyncGenerator[AgentEvent]:
        if request.mode == "batch":
            return run_batch(request, services, request_id=request_id)
        return run_bidi(request, services, language=settings.language, request_id=request_id)

    return answer


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
