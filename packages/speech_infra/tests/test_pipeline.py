"""Who may deploy from GitHub: one repository's jobs of one environment, and whose pull requests may look."""

from collections.abc import Mapping
from typing import Any

import pytest
from infra_common.errors import OptionRefused
from speech_infra.pipeline import Pipeline, must_make_provider, stack_of

from packages.speech_infra.tests.conftest import Made, names_of

PROVIDER = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"


class StackUnknown(Exception):
    pass


class Account:
    """Both of the clients that are asked, at once: who is a provider, and what is in our stack."""

    exceptions = type("exceptions", (), {"ClientError": StackUnknown})

    def __init__(self, providers: list[str], ours: list[str] | None) -> None:
        self._providers, self._ours = providers, ours

    def list_open_id_connect_providers(self) -> dict[str, Any]:
        return {"OpenIDConnectProviderList": [{"Arn": arn} for arn in self._providers]}

    def describe_stack_resources(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - AWS's name
        assert StackName == stack_of("dev")
        if self._ours is None:
            raise StackUnknown(f"Stack with id {StackName} does not exist")
        return {"StackResources": [{"PhysicalResourceId": arn} for arn in self._ours]}


@pytest.mark.parametrize(
    ("providers", "ours", "makes"),
    [
        ([], None, True),
        ([f"{PROVIDER.rpartition('/')[0]}/elsewhere.example"], None, True),
        ([PROVIDER], None, False),
        ([PROVIDER], [], False),
        ([PROVIDER], [PROVIDER], True),
    ],
)
def test_the_provider_is_made_where_there_is_none_and_kept_where_it_is_ours(
    providers: list[str], ours: list[str] | None, makes: bool
) -> None:
    account = Account(providers, ours)
    assert must_make_provider(account, account, "dev") is makes


@pytest.mark.parametrize("repository", ["voice", "a/b/c", "a/*", "a@1/b", "a/b@2", "a b/c", ""])
def test_what_is_no_repository_is_refused_with_the_command_that_tells(repository: str) -> None:
    with pytest.raises(OptionRefused, match="sub_claim_prefix"):
        Pipeline(names_of(), repository, "production")


@pytest.mark.parametrize("environment", ["", "*", "a:b"])
def test_what_would_change_a_subject_is_no_environment(environment: str) -> None:
    with pytest.raises(OptionRefused, match="--environment"):
        Pipeline(names_of(), "example/voice", environment)


def test_a_subject_may_have_the_numbers_of_owner_and_repository() -> None:
    found = Pipeline(names_of(), "example@12/voice@34", "production")
    assert found.deploy_subject == "repo:example@12/voice@34:environment:production"


@pytest.mark.infra
@pytest.mark.timeout(300)
def test_the_roles_outputs_and_the_provider_that_stays(made: Mapping[str, Made]) -> None:
    template = made["pipeline"]["pipeline"]
    assert set(template["Outputs"]) == {"DeployRoleArn", "DiffRoleArn"}
    (provider,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::IAM::OIDCProvider"]
    assert provider["DeletionPolicy"] == "Retain"
    assert provider["Properties"]["ClientIdList"] == ["sts.amazonaws.com"]


@pytest.mark.infra
@pytest.mark.timeout(300)
def test_a_pull_request_can_read_and_nothing_else(made: Mapping[str, Made]) -> None:
    policies = made["pipeline"].of_type("pipeline", "AWS::IAM::Policy")
    (reading,) = [each for each in policies if "DiffPolicy" in each["PolicyName"]]
    actions = {each["Action"] for each in reading["PolicyDocument"]["Statement"]}
    assert actions == {"sts:AssumeRole", "ssm:GetParameter", "ecr:DescribeImages"}
    (taken,) = [each for each in reading["PolicyDocument"]["Statement"] if each["Action"] == "sts:AssumeRole"]
    assert "cdk-hnb659fds-lookup-role-" in str(taken["Resource"])
