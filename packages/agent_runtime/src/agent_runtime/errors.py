"""Everything that this package raises, and the codes that a caller may be shown.

    AgentError
    ├── RequestError        the payload is wrong: one `error` event, nothing is started
    ├── ModelError          the language model gave no answer, or only part of one
    └── SettingsError       the process cannot start as configured: one line on stderr

An `AgentError` carries a code and a plain sentence, both for the caller. What a library said stays in `__cause__`, for
the log; it never reaches a caller.
"""

from enum import StrEnum


class AgentErrorCode(StrEnum):
    """Codes of the agent's own `error` events. Callers branch on these.

    What the speech server refuses keeps the server's code (`voice_unknown`, `busy` …, see
    `speech_protocol.ErrorCode`), and so do fields that both check (`speed_out_of_range`, `format_unsupported`).
    """

    INVALID_JSON = "invalid_json"
    INVALID_REQUEST = "invalid_request"
    REQUEST_TOO_LARGE = "request_too_large"
    PROMPT_EMPTY = "prompt_empty"
    PROMPT_TOO_LONG = "prompt_too_long"
    MODE_UNKNOWN = "mode_unknown"
    FORMAT_UNSUPPORTED = "format_unsupported"
    UNKNOWN_TYPE = "unknown_type"
    BUSY = "busy"
    SHUTTING_DOWN = "shutting_down"
    MODEL_THROTTLED = "model_throttled"
    MODEL_ACCESS_DENIED = "model_access_denied"
    MODEL_TIMEOUT = "model_timeout"
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_FAILED = "model_failed"
    CONTEXT_TOO_LONG = "context_too_long"
    TOOL_TIMEOUT = "tool_timeout"
    SPEECH_UNAVAILABLE = "speech_unavailable"
    SPEECH_TIMEOUT = "speech_timeout"
    SPEECH_FAILED = "speech_failed"
    INTERNAL_ERROR = "internal_error"


class AgentError(Exception):
    """Root of this package's exceptions."""


class RequestError(AgentError):
    """The payload cannot be acted on. `code` is ours or one of `speech_protocol.ErrorCode`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = str(code)
        self.message = message


class ModelError(AgentError):
    """The model's answer failed before or after its first token; what had come was delivered."""

    def __init__(self, code: AgentErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SettingsError(AgentError):
    """A setting is missing or wrong; the message names it and says what it should hold."""
