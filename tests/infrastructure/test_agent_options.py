"""What an agent is deployed with beside its defaults: a network, tokens, tracing; and what goes again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_aws.bedrock import NOVA
from tests.fake_aws.harness import FakeAws
from tests.infrastructure.conftest import Shell, data_plane

pytestmark = [pytest.mark.infra, pytest.mark.timeout(600)]

SPEECH_MODEL = "kokoro-82m-cpu"
ENDPOINT = f"speech-dev-{SPEECH_MODEL}"
DISCOVERY = "https://login.example.com/.well-known/openid-configuration"


@pytest.fixture
def agent(aws: FakeAws, tmp_path: Path) -> Iterator[Shell]:
    """The command at an account with a voice."""
    aws.bootstrap()
    environment = aws.environment(CDK_DOCKER="no-such-engine", AGENT_INFRA_CONTEXT=str(tmp_path / "cdk.context.json"))
    image = aws.registry.push(f"speech/dev/{SPEECH_MODEL}", "one", {}, b"one")
    Shell(aws, environment).run("deploy", SPEECH_MODEL, "--image-digest", image, "--no-smoke-test")
    with data_plane(ENDPOINT, "tone", tmp_path) as speaking:
        yield Shell(aws, environment | speaking, "agent-infra")


def runtime_of(aws: FakeAws) -> dict[str, Any]:
    control = aws.client("bedrock-agentcore-control")
    (found,) = control.list_agent_runtimes()["agentRuntimes"]
    return dict(control.get_agent_runtime(agentRuntimeId=found["agentRuntimeId"]))


def stacks(aws: FakeAws) -> set[str]:
    found = aws.client("cloudformation").describe_stacks()["Stacks"]
    return {name for each in found if (name := each["StackName"]).startswith("agent-")}


def test_a_network_tokens_and_tracing_come_and_the_network_goes_again(agent: Shell, tmp_path: Path) -> None:
    aws = agent.aws
    image = aws.registry.push("agent/dev/voice", "one", {}, b"one", "arm64")
    deploy = ("deploy", "--bedrock-model-id", NOVA, "--speech-model", SPEECH_MODEL, "--image-digest", image)
    tokens = ("--jwt-discovery", DISCOVERY, "--jwt-client", "app")
    agent.run(*deploy, "--vpc", *tokens, "--transaction-search", "--setting", "AGENT_MEMORY_EXCHANGES=5")
    found = runtime_of(aws)
    assert found["networkConfiguration"]["networkMode"] == "VPC"
    assert len(found["networkConfiguration"]["networkModeConfig"]["subnets"]) == 2
    authoriser = found["authorizerConfiguration"]["customJWTAuthorizer"]
    assert authoriser == {"discoveryUrl": DISCOVERY, "allowedClients": ["app"]}
    assert found["environmentVariables"]["AGENT_MEMORY_EXCHANGES"] == "5"
    assert found["environmentVariables"]["OTEL_TRACES_EXPORTER"] == "otlp"
    assert stacks(aws) == {f"agent-dev-voice-{part}" for part in ("foundation", "network", "tracing", "runtime")}

    refused = agent.run("invoke", "Hello", "-o", str(tmp_path / "a.wav"), code=6)
    assert f"agent-dev-voice takes tokens of {DISCOVERY}" in refused.err
    assert "fix: curl -N -H 'Authorization: Bearer TOKEN'" in refused.err

    aws.fault(is_tracing_on=True)
    plain = agent.run(*deploy, "--json").json
    assert "stack: agent-dev-voice-network deleted" in plain["changed"]
    assert runtime_of(aws)["networkConfiguration"] == {"networkMode": "PUBLIC"}
    assert stacks(aws) == {f"agent-dev-voice-{part}" for part in ("foundation", "tracing", "runtime")}


def test_tracing_that_somebody_has_switched_on_is_left_alone(agent: Shell) -> None:
    aws = agent.aws
    image = aws.registry.push("agent/dev/voice", "one", {}, b"one", "arm64")
    aws.fault(is_tracing_on=True)
    deploy = ("deploy", "--bedrock-model-id", NOVA, "--speech-model", SPEECH_MODEL, "--image-digest", image)
    done = agent.run(*deploy, "--transaction-search")
    assert "Transaction Search is on in this account and region already" in done.err
    assert runtime_of(aws)["environmentVariables"]["OTEL_TRACES_EXPORTER"] == "otlp"
    assert stacks(aws) == {"agent-dev-voice-foundation", "agent-dev-voice-runtime"}
