"""Everything that this package raises on purpose, and what a caller can do about it.

    SpeechError                     `retryable`: whether the same call may succeed later, unchanged
    ├── SpeechUsageError            the caller's code: sessions mixed up, a bad argument, use after the end
    ├── SpeechConnectError          the session could not be opened
    │   ├── SpeechUnreachableError      nobody answers there: refused, no such host, network down   (retryable)
    │   ├── SpeechTlsError              the server's certificate is not trusted, or it speaks no TLS
    │   ├── SpeechCredentialsError      no usable AWS credentials on this machine
    │   ├── SpeechAccessDeniedError     the credentials were refused: expired, wrong, or without the permission
    │   ├── SpeechEndpointNotFoundError no endpoint of that name, or no such path
    │   └── SpeechRefusedError          the service or the speech server said no, with its code
    ├── SpeechTimeoutError          a deadline passed; `waiting_for` says which (also a TimeoutError)   (retryable)
    ├── SpeechSessionEnded          an open session ended before we closed it; what was not answered is lost (retryable)
    ├── SpeechProtocolError         what the server sends is not the contract; the session cannot be trusted
    └── SpeechRequestError          the server refused or failed one request; the session lives

All but `SpeechUsageError` and `SpeechRequestError` end the session: open a new one to go on. Messages are for the
people who run the agent: they name endpoints and remedies, never credentials, and are not meant for an agent's own
callers.
"""

from typing import Literal, Self

from speech_protocol import ErrorEvent

WaitingFor = Literal["connection", "first audio", "next frame", "answer"]


class SpeechError(Exception):
    """Root of this package's exceptions."""

    retryable: bool = False


class SpeechUsageError(SpeechError):
    """The calling code asks for something that a session cannot do."""


class SpeechConnectError(SpeechError):
    """The session could not be opened."""


class SpeechUnreachableError(SpeechConnectError):
    """Nothing answers at the address."""

    retryable = True


class SpeechTlsError(SpeechConnectError):
    """No trusted TLS connection, or none that carries HTTP/2, could be made."""


class SpeechCredentialsError(SpeechConnectError):
    """No usable AWS credentials were found on this machine."""


class SpeechAccessDeniedError(SpeechConnectError):
    """The service knows who asks, or does not, and says no."""


class SpeechEndpointNotFoundError(SpeechConnectError):
    """The address answers, but has no such endpoint."""


class SpeechRefusedError(SpeechConnectError):
    """The service or the speech server declined to open a session; `code` is its own word for why."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class SpeechTimeoutError(SpeechError, TimeoutError):
    """A deadline passed. `request_id` is the request that was waited for, where there is one."""

    retryable = True

    def __init__(self, waiting_for: WaitingFor, limit_s: float, message: str, request_id: str | None = None) -> None:
        super().__init__(message)
        self.waiting_for = waiting_for
        self.limit_s = limit_s
        self.request_id = request_id


class SpeechSessionEnded(SpeechError):
    """The server, the platform or the network ended the session. `code`: their word for why, if any ("1006")."""

    retryable = True

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class SpeechProtocolError(SpeechError):
    """A frame from the server does not follow the wire contract."""


class SpeechRequestError(SpeechError):
    """The server answered a request with an error event. The session goes on."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.request_id = request_id

    @classmethod
    def of(cls, event: ErrorEvent) -> Self:
        """The exception for an error event."""
        return cls(
            event.code,
            event.message,
            retryable=event.retryable,
            retry_after_s=event.retry_after_s,
            request_id=event.request_id,
        )
