"""Everything that this package raises, and the codes that a client may be shown.

    ProtocolError
    ├── MessageError     a client's message cannot be acted on: becomes one `error` event, the session goes on
    ├── EventError       a server's control frame is not of the contract: the client's stream cannot be trusted
    └── FragmentError    fragments of one message exceed the bound, or a stream event does

A `MessageError` carries what the client is told. Nothing else that goes wrong in a server may reach a client as text.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """The stable codes of DESIGN's wire contract. Clients branch on these, people read the message beside them."""

    INVALID_JSON = "invalid_json"
    INVALID_MESSAGE = "invalid_message"
    UNKNOWN_TYPE = "unknown_type"
    TEXT_EMPTY = "text_empty"
    TEXT_TOO_LONG = "text_too_long"
    VOICE_UNKNOWN = "voice_unknown"
    SPEED_OUT_OF_RANGE = "speed_out_of_range"
    FORMAT_UNSUPPORTED = "format_unsupported"
    SAMPLE_RATE_UNSUPPORTED = "sample_rate_unsupported"
    LANGUAGE_UNSUPPORTED = "language_unsupported"
    REQUEST_STALE = "request_stale"
    BUSY = "busy"
    RATE_LIMITED = "rate_limited"
    CANCELLED = "cancelled"
    SYNTHESIS_FAILED = "synthesis_failed"
    SHUTTING_DOWN = "shutting_down"

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later, unchanged."""
        return self in _RETRYABLE

    @property
    def http_status(self) -> int:
        """The status of an HTTP answer that carries this code: 400 unless the client is not at fault or may retry."""
        return _HTTP_STATUS.get(self, 400)


_RETRYABLE = frozenset(
    {ErrorCode.BUSY, ErrorCode.RATE_LIMITED, ErrorCode.SYNTHESIS_FAILED, ErrorCode.SHUTTING_DOWN},
)
_HTTP_STATUS = {
    ErrorCode.REQUEST_STALE: 408,
    ErrorCode.TEXT_TOO_LONG: 413,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.SYNTHESIS_FAILED: 500,
    ErrorCode.BUSY: 503,
    ErrorCode.CANCELLED: 503,
    ErrorCode.SHUTTING_DOWN: 503,
}


class ProtocolError(Exception):
    """Root of this package's exceptions."""


class MessageError(ProtocolError):
    """A client's message is wrong. `code`, `message` and `request_id` (if it had one) are what the client is told.

    `context_id`: of a `text` message, the context that it was meant for; its answer goes by that name, so then
    `request_id` is the same. `ends_context`: it was to be the last of that context.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        request_id: str | None = None,
        context_id: str | None = None,
        *,
        ends_context: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.request_id = request_id
        self.context_id = context_id
        self.ends_context = ends_context


class EventError(ProtocolError):
    """A control frame from a server does not follow the contract."""


class FragmentError(ProtocolError):
    """More bytes than allowed came before a message was complete."""
