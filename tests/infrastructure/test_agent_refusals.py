"""Behaviour 29, 32 and 34 for an agent: what is not right is told in one line with the command that fixes it."""

import json
from pathlib import Path

import pytest

from tests.fake_aws.bedrock import NOVA, PROFILE_ONLY
from tests.fake_aws.harness import FakeAws
from tests.infrastructure.conftest import Done, Shell

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]

DIGEST = f"sha256:{'a' * 64}"
PREFIX = "/speech/dev/kokoro-82m"
ENDPOINT = "speech-dev-kokoro-82m"


@pytest.fixture
def agent(aws: FakeAws, tmp_path: Path) -> Shell:
    """The command at a bootstrapped account, without a container engine."""
    aws.bootstrap()
    environment = aws.environment(CDK_DOCKER="no-such-engine", AGENT_INFRA_CONTEXT=str(tmp_path / "cdk.context.json"))
    return Shell(aws, environment, "agent-infra")


def publish(aws: FakeAws) -> None:
    """What `speech-infra deploy` leaves for agents to read."""
    arn = f"arn:aws:sagemaker:us-east-1:123456789012:endpoint/{ENDPOINT}"
    for name, value in (("endpoint-name", ENDPOINT), ("endpoint-arn", arn)):
        aws.client("ssm").put_parameter(Name=f"{PREFIX}/{name}", Value=value, Type="String")


def deploy(model_id: str = NOVA) -> tuple[str, ...]:
    return ("deploy", "--bedrock-model-id", model_id, "--image-digest", DIGEST)


def finding(agent: Shell, check: str, model_id: str = NOVA, *more: str, **environment: str) -> dict[str, str]:
    """What the doctor says of one thing, whatever else is wrong."""
    done = agent.run(
        "doctor", "--bedrock-model-id", model_id, "--image-digest", DIGEST, "--json", *more, code=1, **environment
    )
    (found,) = [each for each in done.json["checks"] if each["id"] == check]
    return dict(found)


def refused(done: Done, words: str, fix: str) -> None:
    """One line that says what is wrong, one with what helps, and nothing else went wrong."""
    lines = [line for line in done.err.splitlines() if line.startswith(("agent-infra:", "  fix:"))]
    assert len(lines) == 2, done.err
    assert words in lines[0]
    assert fix in lines[1]


def stacks(aws: FakeAws) -> list[str]:
    found = aws.client("cloudformation").describe_stacks()["Stacks"]
    return [each["StackName"] for each in found if each["StackName"] != "CDKToolkit"]


def test_an_agent_before_its_voice_is_refused_with_the_command_to_run(agent: Shell) -> None:
    done = agent.run(*deploy(), code=1)
    refused(done, "voice: stage dev has no speech endpoint kokoro-82m", "speech-infra deploy kokoro-82m")
    assert stacks(agent.aws) == []


def test_no_credentials(agent: Shell) -> None:
    done = agent.run(*deploy(), code=1, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    refused(done, "identity: there are no AWS credentials here", "aws sso login")


def test_a_voice_that_is_paused(agent: Shell) -> None:
    publish(agent.aws)
    found = finding(agent, "voice")
    assert f"{ENDPOINT} is paused" in found["result"]
    assert found["fix"] == "speech-infra resume kokoro-82m"


def test_a_plain_id_where_a_profile_is_needed(agent: Shell) -> None:
    found = finding(agent, "model", PROFILE_ONLY)
    assert "through inference profiles only" in found["result"]
    assert f"--bedrock-model-id us.{PROFILE_ONLY}" in found["fix"]


def test_a_profile_that_there_is_not(agent: Shell) -> None:
    found = finding(agent, "model", "us.amazon.nova-enormous-v9:0")
    assert "Bedrock has no inference profile us.amazon.nova-enormous-v9:0 in us-east-1" in found["result"]
    assert "aws bedrock list-inference-profiles" in found["fix"]


def test_no_access_to_the_model_is_found_by_asking_it(agent: Shell) -> None:
    agent.aws.refuse(
        "bedrock", "AccessDeniedException", "You don't have access to the model", action="Converse", status=403
    )
    found = finding(agent, "answer")
    assert "these credentials may not ask amazon.nova-lite-v1:0: You don't have access" in found["result"]
    assert "Bedrock's console" in found["fix"]


def test_a_busy_model_is_no_reason_to_stop(agent: Shell) -> None:
    agent.aws.refuse("bedrock", "ModelNotReadyException", "It warms up", action="Converse", status=429, times=-1)
    assert finding(agent, "answer")["status"] == "warning"


def test_a_profile_is_noted_with_where_it_goes_so_that_synth_repeats_without_anybody(
    agent: Shell, tmp_path: Path
) -> None:
    found = finding(agent, "model", f"us.{NOVA}")
    assert found["result"] == f"us.{NOVA} sends requests to us-east-1, us-east-2, us-west-2"
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    out = str(tmp_path / "out")
    alone = Shell(agent.aws, agent.environment | nobody, "agent-infra")
    done = alone.run("synth", "--bedrock-model-id", f"us.{NOVA}", "--output", out, "--json")
    template = json.loads((tmp_path / "out" / f"{done.json['stacks'][-1]}.template.json").read_text())
    assert "us-west-2::foundation-model" in json.dumps(template)


def test_an_engine_that_cannot_build_for_arm64_is_told_of_codebuild(agent: Shell, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    engine = tmp_path / "engine"
    engine.write_text(
        "#!/bin/sh\ncase $1 in\n"
        'info) echo \'{"ServerVersion": "27", "Architecture": "x86_64", "OSType": "linux"}\';;\n*) exit 1;; esac\n'
    )
    engine.chmod(0o755)
    arguments = ("doctor", "--bedrock-model-id", NOVA, "--dockerfile", str(tmp_path / "Dockerfile"), "--json")
    done = agent.run(*arguments, code=1, CDK_DOCKER=str(engine))
    (found,) = [each for each in done.json["checks"] if each["id"] == "docker"]
    assert "builds for linux/amd64; the image is linux/arm64" in found["result"]
    assert "--builder codebuild" in found["fix"]


def test_a_repository_that_somebody_else_made_is_never_touched(agent: Shell) -> None:
    agent.aws.client("ecr").create_repository(repositoryName="agent/dev/voice")
    found = finding(agent, "names")
    assert "repository agent/dev/voice exists and does not carry the tags of stage dev" in found["result"]
    agent.run("cleanup", "--purge", "--yes")
    names = [each["repositoryName"] for each in agent.aws.client("ecr").describe_repositories()["repositories"]]
    assert "agent/dev/voice" in names


def test_an_agent_that_is_not_there_cannot_be_asked(agent: Shell, tmp_path: Path) -> None:
    for arguments in (("invoke", "Hello", "-o", str(tmp_path / "a.wav")), ("logs",), ("stop-session", "s" * 33)):
        refused(agent.run(*arguments, code=5), "agent-dev-voice is not deployed in us-east-1", "agent-infra deploy")


def test_a_question_without_a_terminal_is_a_no(agent: Shell) -> None:
    refused(agent.run("destroy", code=2), "Nobody is at a terminal to say so", "add --yes")
