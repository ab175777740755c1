"""An agent that does not come up is told with its reason; CodeBuild makes the image where this machine cannot."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_aws.bedrock import NOVA
from tests.fake_aws.harness import FakeAws
from tests.infrastructure.conftest import Shell, data_plane

pytestmark = [pytest.mark.infra, pytest.mark.timeout(600)]

SPEECH_MODEL = "kokoro-82m-cpu"
REASON = "Image platform validation failed. Please check CloudWatch logs for this runtime."


@pytest.fixture
def agent(aws: FakeAws, tmp_path: Path) -> Iterator[Shell]:
    """The command at an account with a voice, and no container engine."""
    aws.bootstrap()
    environment = aws.environment(CDK_DOCKER="no-such-engine", AGENT_INFRA_CONTEXT=str(tmp_path / "cdk.context.json"))
    image = aws.registry.push(f"speech/dev/{SPEECH_MODEL}", "one", {}, b"one")
    Shell(aws, environment).run("deploy", SPEECH_MODEL, "--image-digest", image, "--no-smoke-test")
    with data_plane(f"speech-dev-{SPEECH_MODEL}", "tone", tmp_path) as speaking:
        yield Shell(aws, environment | speaking, "agent-infra")


def test_an_image_for_another_machine_is_explained_and_codebuild_makes_one_that_runs(
    agent: Shell, tmp_path: Path
) -> None:
    aws = agent.aws
    deploy = ("deploy", "--bedrock-model-id", NOVA, "--speech-model", SPEECH_MODEL)
    wrong = aws.registry.push("agent/dev/voice", "wrong", {}, b"wrong")
    failed = agent.run(*deploy, "--image-digest", wrong, code=6)
    told = " ".join(failed.err.split())
    assert "BedrockAgentCore Runtime AgentRuntime" in told
    assert "the image is not for linux/arm64, which is all that AgentCore runs" in told
    assert "fix: agent-infra deploy --bedrock-model-id ID --builder codebuild" in told

    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    build = ("--dockerfile", str(tmp_path / "Dockerfile"), "--builder", "codebuild")
    aws.fault(build_failure="COPY failed: no space left on device")
    broken = agent.run(*deploy, *build, code=6)
    assert "CodeBuild could not make the image" in broken.err
    assert "COPY failed: no space left on device" in broken.err
    aws.clear_faults()

    aws.fault(runtime_failure=REASON)
    never_up = " ".join(agent.run(*deploy, *build, code=6).err.split())
    assert REASON[:-1] in never_up
    aws.clear_faults()

    done = agent.run(*deploy, *build, "--json").json
    assert done["runtime"]["endpoint_status"] == "READY"
    assert aws.registry.architecture("agent/dev/voice", done["runtime"]["image"]) == "arm64"
    bucket = "agent-dev-voice-src-123456789012-us-east-1"
    assert aws.client("s3").list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    removed = agent.run("destroy", "--yes").out
    assert "agent-dev-voice-builder" in removed
    assert bucket not in {each["Name"] for each in aws.client("s3").list_buckets()["Buckets"]}
