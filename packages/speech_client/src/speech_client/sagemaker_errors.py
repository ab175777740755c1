"""What the SageMaker SDK and awscrt raise, as this package's exceptions.

Modelled errors have classes; what the service's front door says (expired keys, no permission) has not and comes as a
status in the response's metadata; what happened to the connection is an awscrt error at the end of a chain of causes.
"""

import ssl
from collections.abc import Iterator

# the SDK ships no type information
from aws_sdk_sagemaker_runtime_http2 import models
from smithy_aws_event_stream.exceptions import EventError
from smithy_core.exceptions import CallError, SmithyError

from .errors import (
    SpeechAccessDeniedError,
    SpeechConnectError,
    SpeechEndpointNotFoundError,
    SpeechRefusedError,
    SpeechSessionEnded,
    SpeechTlsError,
    SpeechUnreachableError,
)
from .http2 import CrtError

SDK_ERRORS = (SmithyError, EventError)

_NOT_HTTP2 = ("AWS_ERROR_HTTP_UNSUPPORTED_PROTOCOL", "AWS_IO_TLS_ERROR_ALPN_ERROR")
_MODEL_STATUS = {404: "there is no bidirectional route in its container", 503: "its container takes no session now"}


def connect_error(error: BaseException, where: str) -> SpeechConnectError:
    """Why a stream could not be opened."""
    match error:
        case models.InputValidationError():
            if "not found" in (error.message or "").lower():
                return SpeechEndpointNotFoundError(
                    f"{where} does not exist: `aws sagemaker list-endpoints` shows what there is in the region"
                )
            return SpeechRefusedError(
                "InputValidationError", f"{where} refused the request as invalid: {error.message}"
            )
        case models.ModelError():
            status = error.original_status_code
            why = _MODEL_STATUS.get(status or 0, "its container did not accept the session")
            return SpeechRefusedError("ModelError", f"{where}: {why}; its CloudWatch log says more", retryable=True)
        case models.ServiceUnavailableError() | models.InternalServerError():
            return SpeechRefusedError(
                type(error).__name__,
                f"SageMaker could not serve {where} just now; try again in a moment",
                retryable=True,
            )
        case CallError(response_metadata=metadata) if metadata.http_status_code is not None:
            return _front_door(error, metadata.http_status_code, where)
    crt = next((cause for cause in _causes(error) if isinstance(cause, CrtError)), None)
    name = "" if crt is None else crt.name
    if name in _NOT_HTTP2:
        return SpeechTlsError(f"{where} does not offer HTTP/2 there: the bidirectional API has its own port, 8443")
    if "TLS" in name or any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        return SpeechTlsError(
            f"no trusted TLS connection to {where}: pass ca_file if the server has a certificate authority of its own"
        )
    if name == "AWS_IO_SOCKET_CLOSED":
        return SpeechUnreachableError(f"the connection to {where} was closed before any answer: is TLS spoken there?")
    reason = f" ({name})" if name else ""
    return SpeechUnreachableError(f"nothing answers for {where}{reason}: check the address, the region and the network")


def stream_error(error: BaseException, where: str) -> SpeechSessionEnded:
    """Why an open stream broke off."""
    again = "open a new session and send again what was not answered"
    match error:
        case models.ModelStreamError():
            code = error.error_code or "ModelStreamError"
            return SpeechSessionEnded(f"the container of {where} closed the session ({code}); {again}", code)
        case models.InternalStreamFailure():
            return SpeechSessionEnded(f"SageMaker broke off the stream to {where}; {again}", "InternalStreamFailure")
    crt = next((cause for cause in _causes(error) if isinstance(cause, CrtError)), None)
    return SpeechSessionEnded(f"the connection to {where} was lost; {again}", None if crt is None else crt.name)


def _front_door(error: CallError, status: int, where: str) -> SpeechConnectError:
    if status in (401, 403):
        return SpeechAccessDeniedError(
            f"access to {where} was denied ({status}): the credentials have expired or lack "
            f"sagemaker:InvokeEndpointWithBidirectionalStream on it; `aws sts get-caller-identity` shows whose they are"
        )
    if status == 404:
        return SpeechEndpointNotFoundError(f"{where} answered 404: is this SageMaker's runtime address?")
    busy = status == 429 or status >= 500
    return SpeechRefusedError(
        str(status), f"{where} answered {status}", retryable=busy, retry_after_s=error.retry_after
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
