import ssl

import pytest

# the SDK ships no type information
from aws_sdk_sagemaker_runtime_http2 import models
from smithy_core.exceptions import CallError, SmithyError
from smithy_core.response import ResponseMetadata
from speech_client import (
    SpeechAccessDeniedError,
    SpeechEndpointNotFoundError,
    SpeechError,
    SpeechRefusedError,
    SpeechTlsError,
    SpeechUnreachableError,
)
from speech_client.http2 import CrtError
from speech_client.sagemaker_errors import connect_error, stream_error

NOT_FOUND = models.InputValidationError(message="Endpoint x of this account not found.")
WHERE = "endpoint 'kokoro' at https://localhost:8443"


def http(status: int) -> CallError:
    return CallError(message="Unknown error", response_metadata=ResponseMetadata(http_status_code=status))


def crt(name: str) -> SmithyError:
    """As the SDK raises it: its own error on top of awscrt's."""
    error = SmithyError("wrapped")
    error.__cause__ = CrtError(code=1, name=name, message="…")
    return error


def tls() -> SmithyError:
    error = SmithyError("wrapped")
    error.__cause__ = ssl.SSLCertVerificationError("no")
    return error


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "says"),
    [
        (NOT_FOUND, SpeechEndpointNotFoundError, False, "list-endpoints"),
        (models.InputValidationError(message="bad header"), SpeechRefusedError, False, "bad header"),
        (models.ModelError(message="…", original_status_code=404), SpeechRefusedError, True, "no bidirectional route"),
        (models.ModelError(message="…", original_status_code=503), SpeechRefusedError, True, "no session now"),
        (models.ModelError(message="…"), SpeechRefusedError, True, "CloudWatch"),
        (models.ServiceUnavailableError(message="…"), SpeechRefusedError, True, "try again"),
        (models.InternalServerError(message="…"), SpeechRefusedError, True, "try again"),
        (http(403), SpeechAccessDeniedError, False, "sagemaker:InvokeEndpointWithBidirectionalStream"),
        (http(401), SpeechAccessDeniedError, False, "expired"),
        (http(404), SpeechEndpointNotFoundError, False, "runtime address"),
        (http(429), SpeechRefusedError, True, "429"),
        (http(502), SpeechRefusedError, True, "502"),
        (http(400), SpeechRefusedError, False, "400"),
        (crt("AWS_IO_SOCKET_CONNECTION_REFUSED"), SpeechUnreachableError, True, "CONNECTION_REFUSED"),
        (crt("AWS_IO_DNS_INVALID_NAME"), SpeechUnreachableError, True, "check the address"),
        (crt("AWS_IO_SOCKET_CLOSED"), SpeechUnreachableError, True, "is TLS spoken there"),
        (crt("AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE"), SpeechTlsError, False, "ca_file"),
        (crt("AWS_ERROR_HTTP_UNSUPPORTED_PROTOCOL"), SpeechTlsError, False, "8443"),
        (tls(), SpeechTlsError, False, "ca_file"),
        (OSError("cut off"), SpeechUnreachableError, True, "check the address"),
        (http(0), SpeechRefusedError, False, ""),
    ],
)  # fmt: skip
def test_why_a_stream_could_not_be_opened(
    error: BaseException, kind: type[SpeechError], retryable: bool, says: str
) -> None:
    mapped = connect_error(error, WHERE)
    assert type(mapped) is kind
    assert mapped.retryable is retryable
    assert says in str(mapped)
    assert "kokoro" in str(mapped)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (models.ModelStreamError(message="…", error_code="1011"), "1011", "container"),
        (models.ModelStreamError(message="…"), "ModelStreamError", "container"),
        (models.InternalStreamFailure(message="…"), "InternalStreamFailure", "SageMaker"),
        (crt("AWS_ERROR_HTTP_CONNECTION_CLOSED"), "AWS_ERROR_HTTP_CONNECTION_CLOSED", "connection"),
        (OSError("cut off"), None, "connection"),
    ],
)
def test_why_a_stream_broke_off(error: BaseException, code: str | None, says: str) -> None:
    mapped = stream_error(error, WHERE)
    assert mapped.code == code
    assert says in str(mapped)
    assert "open a new session" in str(mapped)
