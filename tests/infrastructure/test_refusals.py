"""Behaviour 29 and 34: what is not right is told in one line with the command that fixes it; nothing is made before."""

import json
import stat
from pathlib import Path

import pytest
from infra_common.endpoint_parameters import EndpointParameters, EndpointUser
from infra_common.ownership import Owner

from tests.fake_aws.harness import FakeAws
from tests.infrastructure.conftest import Done, Shell

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]

DEPLOY = ("deploy", "kokoro-82m-cpu", "--image-digest", f"sha256:{'a' * 64}")


def refused(done: Done, words: str, fix: str) -> None:
    """One line that says what is wrong, one with what helps, and nothing else went wrong."""
    lines = [line for line in done.err.splitlines() if line.startswith(("speech-infra:", "  fix:"))]
    assert len(lines) == 2, done.err
    assert words in lines[0]
    assert fix in lines[1]


def made(aws: FakeAws) -> list[str]:
    """Stacks, but the bootstrap's own."""
    stacks = aws.client("cloudformation").describe_stacks()["Stacks"]
    return [each["StackName"] for each in stacks if each["StackName"] != "CDKToolkit"]


def test_no_credentials(shell: Shell) -> None:
    done = shell.run(*DEPLOY, code=1, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    refused(done, "identity: there are no AWS credentials here", "aws sso login")
    assert made(shell.aws) == []


def test_expired_credentials(shell: Shell) -> None:
    shell.aws.refuse("sts", "ExpiredToken", "The security token included in the request is expired", status=403)
    refused(shell.run(*DEPLOY, code=1), "identity: the AWS credentials have expired", "aws sso login")
    assert made(shell.aws) == []


def test_credentials_that_nobody_knows(shell: Shell) -> None:
    shell.aws.refuse("sts", "InvalidClientTokenId", "The security token included in the request is invalid", status=403)
    done = shell.run("status", code=4)
    refused(done, "AWS does not accept these credentials (InvalidClientTokenId)", "aws sso login")


def test_a_region_without_the_service(shell: Shell) -> None:
    done = shell.run(*DEPLOY, "--region", "nowhere-north-9", code=1)
    refused(done, "region: SageMaker is not offered in nowhere-north-9", "--region")


def test_a_region_that_was_never_bootstrapped(shell: Shell) -> None:
    done = shell.run(*DEPLOY, "--region", "eu-west-1", code=1)
    words = "bootstrap: account 123456789012 is not bootstrapped for the CDK in eu-west-1"
    refused(done, words, "npx cdk bootstrap aws://123456789012/eu-west-1")


@pytest.mark.parametrize("have", [0, 1])
def test_a_quota_that_does_not_hold_an_update(shell: Shell, have: int) -> None:
    shell.aws.fault(quotas={"ml.c7i.2xlarge for endpoint usage": have})
    done = shell.run(*DEPLOY, code=1)
    words = f"quota: ml.c7i.2xlarge: the account may have {have}, and 2 are needed (1 to serve, 1 more while a"
    refused(done, words, "aws service-quotas request-service-quota-increase --service-code sagemaker --quota-code")
    assert "--desired-value 2" in done.err
    assert made(shell.aws) == []


def test_the_quota_of_the_gpu_instance_is_known_by_its_code(shell: Shell) -> None:
    shell.aws.fault(quotas={"ml.g5.xlarge for endpoint usage": 0})
    found = shell.run("doctor", "kokoro-82m", "--image-digest", f"sha256:{'a' * 64}", "--json", code=1).json
    (quota,) = [each for each in found["checks"] if each["id"] == "quota"]
    assert quota["status"] == "failed"
    assert "--quota-code L-1928E07B --desired-value 2" in quota["fix"]


def test_no_container_engine(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    done = shell.run("deploy", "kokoro-82m-cpu", "--dockerfile", str(tmp_path / "Dockerfile"), code=1)
    refused(done, "docker: no-such-engine is not installed", "CDK_DOCKER")
    assert made(shell.aws) == []


@pytest.mark.parametrize(
    ("answer", "words", "fix"),
    [
        (
            'echo "Cannot connect to the Docker daemon" >&2; exit 1',
            "its engine does not answer: Cannot connect",
            "start",
        ),
        (
            'echo \'{"ServerVersion": "27", "Architecture": "aarch64", "OSType": "linux"}\'',
            "builds for linux/arm64; the image is linux/amd64",
            "binfmt --install amd64",
        ),
    ],
)
def test_an_engine_that_cannot_do_it(shell: Shell, tmp_path: Path, answer: str, words: str, fix: str) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\ncase $1 in info) {answer};; *) exit 1;; esac\n")
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    dockerfile = str(tmp_path / "Dockerfile")
    done = shell.run("deploy", "kokoro-82m-cpu", "--dockerfile", dockerfile, code=1, CDK_DOCKER=str(engine))
    refused(done, words, fix)


def test_a_permission_that_is_missing_is_named(shell: Shell) -> None:
    message = "User: arn:aws:iam::123456789012:user/x is not authorized to perform: sagemaker:DescribeEndpoint"
    shell.aws.refuse("sagemaker", "AccessDeniedException", message, times=-1)
    refused(shell.run("status", code=4), "DescribeEndpoint is not allowed for these credentials", "--profile")


def test_throttling_is_waited_out(shell: Shell) -> None:
    shell.aws.refuse("cloudformation", "Throttling", "Rate exceeded", times=3)
    assert shell.run("status", "--json").json["stack"] is None


def test_a_bucket_that_somebody_else_made_is_never_touched(shell: Shell) -> None:
    bucket = "speech-dev-kokoro-82m-cpu-123456789012-us-east-1"
    s3 = shell.aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="theirs", Body=b"1")
    refused(shell.run(*DEPLOY, code=1), f"names: bucket {bucket} exists and does not carry the tags", "--stage")
    shell.run("cleanup", "--purge", "--yes")
    found = shell.run("cleanup", "--json").json
    assert [each["name"] for each in found["leftovers"] if each["kind"] == "bucket" and each["shared"]] == [bucket]
    assert s3.get_object(Bucket=bucket, Key="theirs")["Body"].read() == b"1"


def test_a_repository_and_a_stack_that_somebody_else_made_are_never_touched(shell: Shell) -> None:
    ecr, cloudformation = shell.aws.client("ecr"), shell.aws.client("cloudformation")
    ecr.create_repository(repositoryName="speech/dev/kokoro-82m-cpu")
    refused(shell.run(*DEPLOY, code=1), "names: repository speech/dev/kokoro-82m-cpu exists", "--stage")
    template = '{"Resources": {"Theirs": {"Type": "AWS::SNS::Topic"}}}'
    cloudformation.create_stack(StackName="speech-dev-kokoro-82m-cpu-endpoint", TemplateBody=template)
    done = shell.run("destroy", "kokoro-82m-cpu", "--yes", code=5)
    assert "somebody else made it, so it is left alone" in done.err
    shell.run("cleanup", "--purge", "--yes")
    assert made(shell.aws) == ["speech-dev-kokoro-82m-cpu-endpoint"]
    assert len(ecr.describe_repositories(repositoryNames=["speech/dev/kokoro-82m-cpu"])["repositories"]) >= 1


def test_an_endpoint_that_an_agent_uses_is_not_destroyed_unless_told(shell: Shell) -> None:
    used = EndpointParameters("dev", "kokoro-82m-cpu")
    agent = EndpointUser("agent", "tea", "agent-infra destroy tea")
    ours = [{"Key": key, "Value": value} for key, value in Owner("dev", used.model, "speech-infra").tags().items()]
    template = json.dumps({"Resources": {"Voice": {"Type": "AWS::SNS::Topic"}}})
    stack = "speech-dev-kokoro-82m-cpu-endpoint"
    shell.aws.client("cloudformation").create_stack(StackName=stack, TemplateBody=template, Tags=ours)
    shell.aws.client("ssm").put_parameter(Name=used.user(agent.name), Value=agent.render(), Type="String")
    done = shell.run("destroy", used.model, "--yes", code=5)
    refused(done, "is used by agent tea; nothing was deleted", agent.removal)
    refused(shell.run("cleanup", "--purge", "--yes", code=5), "is used by agent tea", agent.removal)
    assert made(shell.aws) == [stack]
    forced = shell.run("destroy", used.model, "--yes", "--force")
    assert "agent tea loses its voice" in forced.err
    assert made(shell.aws) == []


def test_a_question_without_a_terminal_is_a_no(shell: Shell) -> None:
    done = shell.run("destroy", "kokoro-82m-cpu", code=2)
    refused(done, "Nobody is at a terminal to say so", "add --yes")
