"""What botocore raises, as one sentence and what helps. The codes are the services' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra_common.errors import AccessDenied, AwsError, AwsUnreachable, CredentialsMissing, InfraError, OutcomeError

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_UNKNOWN: Final = frozenset(
    {
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "AuthFailure",
    }
)
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden"})
_THROTTLED: Final = frozenset({"Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"})
_LOG_IN: Final = "aws sso login   (or set AWS_PROFILE, or run `aws configure`)"


def explained(error: Exception) -> InfraError | None:
    """Ours for theirs; None where `error` is not botocore's."""
    from botocore import exceptions as theirs

    match error:
        case theirs.ClientError():
            return _of_service(error)
        case theirs.NoCredentialsError() | theirs.PartialCredentialsError() | theirs.CredentialRetrievalError():
            return CredentialsMissing("there are no AWS credentials here", fix=_LOG_IN)
        case theirs.TokenRetrievalError() | theirs.SSOTokenLoadError() | theirs.UnauthorizedSSOTokenError():
            return CredentialsMissing("the AWS sign-in has expired", fix=_LOG_IN)
        case theirs.ProfileNotFound():
            return CredentialsMissing(f"{error}", fix="aws configure list-profiles   (then --profile NAME)")
        case theirs.EndpointConnectionError() | theirs.ConnectTimeoutError() | theirs.ReadTimeoutError():
            return AwsUnreachable(
                f"no answer from AWS ({error})", fix="check the network, --region and AWS_ENDPOINT_URL; then try again"
            )
        case theirs.BotoCoreError():
            return AwsError(f"AWS could not be asked: {error}")
        case _:
            return None


def code_of(error: Exception) -> str:
    """A ClientError's code; empty for anything else."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _of_service(error: ClientError) -> InfraError:
    code = code_of(error)
    message = str(error.response.get("Error", {}).get("Message", "")).strip()
    call = error.operation_name
    if code in _EXPIRED:
        return CredentialsMissing("the AWS credentials have expired", fix=_LOG_IN)
    if code in _UNKNOWN:
        return CredentialsMissing(f"AWS does not accept these credentials ({code})", fix=_LOG_IN)
    if code in _DENIED:
        return AccessDenied(
            f"{call} is not allowed for these credentials: {message}",
            fix="ask whoever administers the account for that action, or use another --profile",
        )
    if code in _THROTTLED:
        return OutcomeError(f"AWS throttles {call}, six times in a row", fix="wait a minute, then run it again")
    return OutcomeError(f"{call} failed: {message} ({code})")
