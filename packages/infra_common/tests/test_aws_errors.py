"""What botocore raises, as one sentence, a branch of ours and what helps."""

import pytest
from botocore import exceptions as theirs
from infra_common.aws_errors import code_of, explained
from infra_common.errors import AccessDenied, AwsError, AwsUnreachable, CredentialsMissing, InfraError, OutcomeError


def service(code: str, message: str = "they say so") -> theirs.ClientError:
    return theirs.ClientError({"Error": {"Code": code, "Message": message}}, "DescribeStacks")


@pytest.mark.parametrize(
    ("error", "kind", "words", "fix"),
    [
        (service("ExpiredTokenException"), CredentialsMissing, "have expired", "aws sso login"),
        (service("InvalidClientTokenId"), CredentialsMissing, "does not accept", "aws sso login"),
        (service("AccessDenied", "not yours"), AccessDenied, "DescribeStacks is not allowed .*not yours", "--profile"),
        (service("Throttling"), OutcomeError, "throttles DescribeStacks", "wait a minute"),
        (theirs.NoCredentialsError(), CredentialsMissing, "no AWS credentials", "aws sso login"),
        (theirs.UnauthorizedSSOTokenError(), CredentialsMissing, "sign-in has expired", "aws sso login"),
        (theirs.ProfileNotFound(profile="x"), CredentialsMissing, "x", "list-profiles"),
        (theirs.EndpointConnectionError(endpoint_url="u"), AwsUnreachable, "no answer from AWS", "--region"),
        (theirs.ReadTimeoutError(endpoint_url="u"), AwsUnreachable, "no answer from AWS", "AWS_ENDPOINT_URL"),
    ],
)
def test_each_kind_has_its_sentence_and_its_command(
    error: Exception, kind: type[InfraError], words: str, fix: str
) -> None:
    found = explained(error)
    assert type(found) is kind
    assert found is not None
    with pytest.raises(kind, match=words):
        raise found
    assert fix in str(found.fix)


def test_a_code_that_nobody_foresaw_is_told_as_it_came() -> None:
    found = explained(service("OddError", "the moon was full"))
    assert str(found) == "DescribeStacks failed: the moon was full (OddError)"


def test_anything_else_of_botocores_is_told_without_a_traceback() -> None:
    assert isinstance(explained(theirs.UnknownServiceError(service_name="x", known_service_names="y")), AwsError)


def test_what_is_not_botocores_is_not_explained() -> None:
    assert explained(ZeroDivisionError()) is None
    assert code_of(ZeroDivisionError()) == ""
    assert code_of(service("Throttling")) == "Throttling"
