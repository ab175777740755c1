"""Both deployed in order, changed, taken down in order: the real CDK command and registry, and a stand-in for AWS."""

import json
import re
import subprocess
import wave
from pathlib import Path

import pytest

from tests.fake_aws.harness import ROOT, FakeAws
from tests.infrastructure.agent_plane import ANSWER
from tests.infrastructure.conftest import Shell, agent_plane, data_plane

pytestmark = [pytest.mark.infra, pytest.mark.timeout(600)]

SPEECH_MODEL = "kokoro-82m-cpu"
ENDPOINT = f"speech-dev-{SPEECH_MODEL}"
BUCKET = f"{ENDPOINT}-123456789012-us-east-1"
MODEL_ID = "us.amazon.nova-lite-v1:0"


def test_a_voice_and_its_agent_from_the_first_deployment_to_one_report_of_what_is_left(
    aws: FakeAws, arm_engine: dict[str, str], tmp_path: Path
) -> None:
    aws.bootstrap()
    context = tmp_path / "cdk.context.json"
    environment = aws.environment(**arm_engine, AGENT_INFRA_CONTEXT=str(context))
    speech, agent = Shell(aws, environment), Shell(aws, environment, "agent-infra")
    voice_image, agent_image = _image(tmp_path / "voice", "cpu"), _image(tmp_path / "agent", "agent")
    deploy = (
        *("deploy", "--bedrock-model-id", MODEL_ID, "--speech-model", SPEECH_MODEL),
        *("--dockerfile", str(agent_image), "--json"),
    )

    early = agent.run(*deploy, code=1)
    assert f"voice: stage dev has no speech endpoint {SPEECH_MODEL} in us-east-1" in early.err
    assert f"fix: speech-infra deploy {SPEECH_MODEL}" in early.err
    assert [each["StackName"] for each in aws.client("cloudformation").describe_stacks()["Stacks"]] == ["CDKToolkit"]

    speech.run("deploy", SPEECH_MODEL, "--dockerfile", str(voice_image), "--no-smoke-test")
    with data_plane(ENDPOINT, "tone", tmp_path) as speaking:
        talking = Shell(aws, environment | speaking, "agent-infra")
        first, again = talking.run(*deploy).json, talking.run(*deploy).json
        agent_image.with_name("app").write_bytes(b"two")
        second = talking.run(*deploy).json
    assert [each.partition(":")[0] for each in first["changed"]] == ["stack", "image", "stack"]
    assert (first["runtime"]["version"], first["runtime"]["endpoint_status"]) == ("1", "READY")
    assert again["changed"] == []
    assert second["runtime"]["version"] == "2"
    assert second["runtime"]["image"] != first["runtime"]["image"]
    assert aws.registry.architecture("agent/dev/voice", second["runtime"]["image"]) == "arm64"
    assert json.loads(context.read_text()), "what a profile sends where is noted"

    heard, answering = speech.run("status", SPEECH_MODEL, "--json").json, agent.run("status", "--json").json
    assert (heard["endpoint"]["status"], heard["differences"]) == ("InService", [])
    assert (answering["runtime"]["image"], answering["differences"]) == (second["runtime"]["image"], [])
    assert answering["release"]["versions"] == 2
    assert answering["release"]["voice"] == ENDPOINT
    groups = aws.client("logs").describe_log_groups(logGroupNamePrefix="/aws/bedrock-agentcore/")["logGroups"]
    assert {group["retentionInDays"] for group in groups} == {30}

    _is_called_as_anybody_would(agent, second["runtime"]["arn"], tmp_path)
    session = "a-session-of-at-least-33-characters"
    assert agent.run("stop-session", session, "--json").json["session"] == session

    refused = speech.run("destroy", SPEECH_MODEL, "--yes", code=5)
    assert "is used by agent agent-dev-voice" in refused.err
    assert "fix: agent-infra destroy" in refused.err

    gone = agent.run("destroy", "--yes", "--no-report")
    assert "Deleted: agent-dev-voice-runtime, agent-dev-voice-foundation" in gone.out
    speech.run("destroy", SPEECH_MODEL, "--yes", "--no-report")
    assert aws.client("bedrock-agentcore-control").list_agent_runtimes()["agentRuntimes"] == []

    report = agent.run("cleanup", "--whole-stage", "--json", code=3)
    left = json.JSONDecoder().raw_decode(report.out)[0]["leftovers"]
    runtime = second["runtime"]["id"]
    assert sorted((each["kind"], each["name"]) for each in left) == [
        ("CDK bootstrap", "CDKToolkit"),
        ("bucket", BUCKET),
        ("bucket", f"{BUCKET}-logs"),
        ("log group", f"/aws/bedrock-agentcore/runtimes/{runtime}-DEFAULT"),
        ("log group", f"/aws/bedrock-agentcore/runtimes/{runtime}-live"),
        ("log group", f"/aws/sagemaker/Endpoints/{ENDPOINT}"),
        ("repository", "agent/dev/voice"),
        ("repository", f"speech/dev/{SPEECH_MODEL}"),
    ]
    assert "fix: agent-infra cleanup --purge --whole-stage" in report.err

    purged = agent.run("cleanup", "--whole-stage", "--purge", "--yes", "--json").json
    assert [each["kind"] for each in purged["leftovers"]] == ["CDK bootstrap"]


def _image(directory: Path, stage: str) -> Path:
    directory.mkdir()
    (directory / "app").write_bytes(b"one")
    (directory / "Dockerfile").write_text(f'FROM scratch AS {stage}\nCOPY app /app\nENTRYPOINT ["/app"]\n')
    return directory / "Dockerfile"


def _is_called_as_anybody_would(agent: Shell, arn: str, directory: Path) -> None:
    """`invoke` and `demo`, at the data plane of the runtime that was deployed."""
    with agent_plane(arn, directory) as answering:
        caller = Shell(agent.aws, agent.environment | answering, "agent-infra")
        asked = caller.run("invoke", "Who are you?", "-o", str(directory / "answer.wav"))
        shown = caller.run("demo", "Who are you?", "--out", str(directory / "demo"))
    assert ANSWER in " ".join(asked.out.split())
    with wave.open(str(directory / "answer.wav")) as heard:
        assert heard.getnframes() > 24_000
    assert re.search(r"first audio, bidi / batch: \d\.\d\d \(one run each\)", shown.out)
    assert {path.name for path in (directory / "demo").iterdir()} == {"answer.wav", "timeline.png", "timings.json"}


def test_make_deploy_and_destroy_call_both_commands_in_order() -> None:
    def commands(target: str) -> list[str]:
        arguments = ("-n", "--assume-old", ".venv-infra/.ready", target, "STAGE=try", f"MODEL_ID={MODEL_ID}")
        printed = subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return re.findall(r"(?:speech|agent)-infra \S+", printed)

    assert commands("deploy") == ["speech-infra deploy", "agent-infra deploy"]
    assert commands("destroy") == ["agent-infra destroy", "speech-infra destroy", "agent-infra cleanup"]
