"""A deployment with everything that may be chosen: network and key of its own, a fleet that is updated by halves."""

from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.conftest import Shell
from tests.infrastructure.pipeline_actions import allowed

pytestmark = [pytest.mark.infra, pytest.mark.timeout(600)]

MODEL = "kokoro-82m-cpu"
NAME = f"speech-dev-{MODEL}"
REPOSITORY = f"speech/dev/{MODEL}"


def deploy(image: str, *more: str) -> tuple[str, ...]:
    fleet = ("--vpc", "--instances", "2", "--max-instances", "4", "--strategy", "rolling", "--tag", "team=voice")
    return ("deploy", MODEL, "--image-digest", image, "--no-smoke-test", "--json", *fleet, *more)


def keys(kms: Any) -> list[str]:
    """Enabled ones."""
    listed = [each["KeyId"] for each in kms.list_keys()["Keys"]]
    return [key for key in listed if kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "Enabled"]


def test_a_key_is_made_kept_used_again_and_purged_with_what_it_encrypts(shell: Shell) -> None:
    aws = shell.aws
    kms, ecr = aws.client("kms"), aws.client("ecr")
    first, second = (aws.registry.push(REPOSITORY, tag, {}, tag.encode()) for tag in ("one", "two"))

    made = shell.run(*deploy(first, "--kms-key", "create")).json
    (key,) = keys(kms)
    assert made["endpoint"]["instances"] == 2
    assert {each["Key"]: each["Value"] for each in _tags_of_model(shell)}["team"] == "voice"
    (vpc,) = [each for each in aws.client("ec2").describe_vpcs()["Vpcs"] if not each["IsDefault"]]
    assert vpc["State"] == "available"
    (repository,) = ecr.describe_repositories(repositoryNames=[REPOSITORY])["repositories"]
    assert repository["encryptionConfiguration"]["kmsKey"].endswith(key)

    moved = shell.run(*deploy(second, "--kms-key", "create")).json
    assert moved["endpoint"]["image"] == second
    policy = aws.client("sagemaker").describe_endpoint(EndpointName=NAME)["LastDeploymentConfig"]
    assert policy["RollingUpdatePolicy"]["MaximumBatchSize"] == {"Type": "INSTANCE_COUNT", "Value": 1}

    refused = shell.run(*deploy(second), code=1)
    assert f"encryption: repository {REPOSITORY} is encrypted with a KMS key, and ECR never changes that" in refused.err

    kept = shell.run("destroy", MODEL, "--yes", "--json").json["leftovers"]
    assert [(each["name"], each["monthly_usd"]) for each in kept if each["kind"] == "KMS key"] == [(key, 1.0)]
    assert [each["StackName"] for each in _stacks(shell)] == ["CDKToolkit"]

    again = shell.run(*deploy(second, "--kms-key", "create"))
    assert f"{key} was kept by an earlier deployment and is used again" in again.err
    assert keys(kms) == [key]
    assert again.json["release"]["options"]["kms_key"].endswith(key)

    shell.run("destroy", MODEL, "--yes")
    purged = shell.run("cleanup", "--purge", "--yes", "--json").json
    assert [each["kind"] for each in purged["leftovers"]] == ["CDK bootstrap"]
    assert keys(kms) == []


def test_roles_for_a_pipeline_are_made_told_and_taken_away(shell: Shell) -> None:
    deploy_roles = ("pipeline", "deploy", "--repository", "example/voice", "--stage", "prod")
    first = shell.run(*deploy_roles, "--json").json
    arn = first["variables"]["AWS_DEPLOY_ROLE_ARN"]
    iam = shell.aws.client("iam")
    trust = iam.get_role(RoleName=arn.rpartition("/")[2])["Role"]["AssumeRolePolicyDocument"]["Statement"][0]
    claims = trust["Condition"]["StringEquals"]
    assert claims["token.actions.githubusercontent.com:sub"] == "repo:example/voice:environment:production"
    again = shell.run(*deploy_roles)
    assert f"gh variable set AWS_DEPLOY_ROLE_ARN --body {arn}" in again.out
    assert shell.run(*deploy_roles, "--json").json["changed"] is False
    shell.run("pipeline", "deploy", "--repository", "example/voice")
    shell.run("pipeline", "destroy", "--stage", "prod", "--yes")
    assert [each["StackName"] for each in _stacks(shell)] == ["CDKToolkit", "speech-dev-pipeline"]
    assert len(iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]) == 1
    assert shell.run("pipeline", "destroy", "--stage", "prod", "--yes").out.strip() == "There was no stack to delete."


def test_a_pull_requests_role_may_do_what_its_workflow_does(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch AS cpu\nCOPY Dockerfile /\n")
    shown = shell.run("diff", MODEL, "--dockerfile", str(tmp_path / "Dockerfile"))
    assert "AWS::SageMaker::Endpoint" in shown.out
    assert "sts:GetCallerIdentity" in shell.aws.actions()
    assert shell.aws.actions() - allowed("RolesDiff") == set()
    assert [each["StackName"] for each in _stacks(shell)] == ["CDKToolkit"], "a comparison leaves nothing behind"


def _stacks(shell: Shell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.aws.client("cloudformation").describe_stacks()["Stacks"]
    return sorted(found, key=lambda each: str(each["StackName"]))


def _tags_of_model(shell: Shell) -> list[dict[str, str]]:
    sagemaker = shell.aws.client("sagemaker")
    (model,) = sagemaker.list_models()["Models"]
    found: list[dict[str, str]] = sagemaker.list_tags(ResourceArn=model["ModelArn"])["Tags"]
    return found
