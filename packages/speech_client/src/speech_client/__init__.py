"""One streaming speech session, over SageMaker's bidirectional HTTP/2 stream or a plain WebSocket.

async with SpeechSession.connect(SageMakerTransport("kokoro", "us-east-1")) as session:
    async for event in session.speak("Hello there."):
        if isinstance(event, Audio):
            play(event.data)
"""

from speech_protocol import (
    Audio,
    Capabilities,
    ErrorEvent,
    SynthesisCancelled,
    SynthesisComplete,
    SynthesisStart,
    Timestamps,
    VoiceOptions,
)

from .context import SpeechContext
from .credentials import AwsCredentials, CredentialSource, DefaultCredentials, StaticCredentials
from .errors import (
    SpeechAccessDeniedError,
    SpeechConnectError,
    SpeechCredentialsError,
    SpeechEndpointNotFoundError,
    SpeechError,
    SpeechProtocolError,
    SpeechRefusedError,
    SpeechRequestError,
    SpeechSessionEnded,
    SpeechTimeoutError,
    SpeechTlsError,
    SpeechUnreachableError,
    SpeechUsageError,
)
from .kept_session import Keeping, KeptSession
from .ledger import Deadlines, RequestEvent, SpeechEvent
from .memory import MemoryPeer, MemoryTransport
from .sagemaker import SageMakerTransport
from .session import SpeechSession
from .stand_in import STAND_IN_CAPABILITIES, Peer, completes, speak_out, spell, stand_in, starts
from .transport import Connection, Message, Transport
from .websocket import WebSocketTransport

__all__ = [
    "STAND_IN_CAPABILITIES",
    "Audio",
    "AwsCredentials",
    "Capabilities",
    "Connection",
    "CredentialSource",
    "Deadlines",
    "DefaultCredentials",
    "ErrorEvent",
    "Keeping",
    "KeptSession",
    "MemoryPeer",
    "MemoryTransport",
    "Message",
    "Peer",
    "RequestEvent",
    "SageMakerTransport",
    "SpeechAccessDeniedError",
    "SpeechConnectError",
    "SpeechContext",
    "SpeechCredentialsError",
    "SpeechEndpointNotFoundError",
    "SpeechError",
    "SpeechEvent",
    "SpeechProtocolError",
    "SpeechRefusedError",
    "SpeechRequestError",
    "SpeechSession",
    "SpeechSessionEnded",
    "SpeechTimeoutError",
    "SpeechTlsError",
    "SpeechUnreachableError",
    "SpeechUsageError",
    "StaticCredentials",
    "SynthesisCancelled",
    "SynthesisComplete",
    "SynthesisStart",
    "Timestamps",
    "Transport",
    "VoiceOptions",
    "WebSocketTransport",
    "completes",
    "speak_out",
    "spell",
    "stand_in",
    "starts",
]
