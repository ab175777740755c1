"""Everything that this package raises.

    SpeechContainerError
    ├── SettingsInvalid     an environment variable or an option has a value that the server cannot run with
    ├── EngineUnavailable   this installation, or these weights, cannot run the engine that was asked for
    ├── EngineFailed        the engine ran and did not give audio
    ├── CodecFailed         a codec of FFmpeg's did not encode; becomes a Refusal (synthesis_failed)
    ├── PortUnavailable     the address cannot be listened on
    ├── QueueFull           the scheduler holds as much as it may; becomes a Refusal (busy)
    ├── Hangup              a client went away before its request was complete; nobody is left to tell
    └── Refusal             a request cannot be served; its code, message and retry time are for the client

Only a `Refusal` (and speech_protocol's `MessageError`) may be shown to a client. The others are for whoever runs the
server.
"""

from speech_protocol import ErrorCode, ErrorEvent


class SpeechContainerError(Exception):
    """Root of this package's exceptions."""


class SettingsInvalid(SpeechContainerError):
    """A setting has a value that the server cannot run with."""


class EngineUnavailable(SpeechContainerError):
    """This installation, or these weights, cannot run the engine that was asked for."""


class EngineFailed(SpeechContainerError):
    """The engine ran and did not give audio."""


class CodecFailed(SpeechContainerError):
    """A codec did not take what it was given."""


class PortUnavailable(SpeechContainerError):
    """The address cannot be listened on."""


class QueueFull(SpeechContainerError):
    """The waiting segments are at their limit. `retry_after_s`: about how long half of them take."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the queue is full; try again in {retry_after_s:.1f} s")
        self.retry_after_s = retry_after_s


class Hangup(SpeechContainerError):
    """A client went away before its request was complete."""


class Refusal(SpeechContainerError):
    """A request cannot be served. `message` is a plain sentence for the client; `retry_after_s` where waiting helps."""

    def __init__(self, code: ErrorCode, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s

    def event(self, request_id: str | None) -> ErrorEvent:
        """What the client of `request_id` is told."""
        return ErrorEvent.of(self.code, self.message, request_id, self.retry_after_s)
