"""The templates of the stacks: what runs, how it updates, who may call it, what is kept."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from packages.agent_infra.tests.conftest import DIGEST, NOVA, VOICE, Made, plan_of

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]

RUNTIME = "AWS::BedrockAgentCore::Runtime"
ENDPOINT = "AWS::BedrockAgentCore::RuntimeEndpoint"


def runtime(made: Made) -> dict[str, Any]:
    (found,) = made.of_type("runtime", RUNTIME)
    return found


def resource_of(made: Made, kind: str) -> tuple[str, dict[str, Any]]:
    (found,) = [(name, each) for name, each in made["runtime"]["Resources"].items() if each["Type"] == kind]
    return found


def test_the_runtime_runs_an_image_by_digest_as_http(made: Mapping[str, Made]) -> None:
    found = runtime(made["plain"])
    image = found["AgentRuntimeArtifact"]["ContainerConfiguration"]["ContainerUri"]
    assert image["Fn::Join"][1][-1] == f"@{DIGEST}"
    assert found["AgentRuntimeName"] == "voice_dev"
    assert found["ProtocolConfiguration"] == "HTTP"


def test_the_endpoint_is_pinned_to_the_version_that_was_just_made(made: Mapping[str, Made]) -> None:
    name, _ = resource_of(made["plain"], RUNTIME)
    (endpoint,) = made["plain"].of_type("runtime", ENDPOINT)
    assert endpoint["Name"] == "live"
    assert endpoint["AgentRuntimeVersion"] == {"Fn::GetAtt": [name, "AgentRuntimeVersion"]}


def test_the_container_is_told_its_model_its_voice_and_its_region(made: Mapping[str, Made]) -> None:
    assert runtime(made["us"])["EnvironmentVariables"] == {
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "BEDROCK_MODEL_ID": f"us.{NOVA}",
        "SPEECH_ENDPOINT_NAME": VOICE.endpoint_name,
    }
    assert runtime(made["full"])["EnvironmentVariables"]["AGENT_TOOLS"] == "current_time"


def test_spans_are_sent_where_transaction_search_was_asked_for(made: Mapping[str, Made]) -> None:
    assert not any(name.startswith("OTEL_") for name in runtime(made["plain"])["EnvironmentVariables"])
    traced = runtime(made["full"])["EnvironmentVariables"]
    assert (traced["OTEL_TRACES_EXPORTER"], traced["OTEL_SERVICE_NAME"]) == ("otlp", "agent-dev-voice")


def test_by_default_it_is_public_and_callers_sign(made: Mapping[str, Made]) -> None:
    found = runtime(made["plain"])
    assert found["NetworkConfiguration"] == {"NetworkMode": "PUBLIC"}
    assert found["LifecycleConfiguration"] == {"IdleRuntimeSessionTimeout": 900, "MaxLifetime": 28_800}
    assert "AuthorizerConfiguration" not in found
    assert "RequestHeaderConfiguration" not in found
    assert [name.rpartition("-")[2] for name in made["plain"].assembly.stacks] == ["foundation", "runtime"]


def test_tokens_headers_and_lifecycle_are_as_asked_for(made: Mapping[str, Made]) -> None:
    found = runtime(made["full"])
    assert found["AuthorizerConfiguration"]["CustomJWTAuthorizer"] == {
        "DiscoveryUrl": "https://login.example.com/.well-known/openid-configuration",
        "AllowedClients": ["app"],
    }
    allowed = found["RequestHeaderConfiguration"]["RequestHeaderAllowlist"]
    assert allowed == ["X-Amzn-Bedrock-AgentCore-Runtime-Custom-Trace"]
    assert found["LifecycleConfiguration"] == {"IdleRuntimeSessionTimeout": 300, "MaxLifetime": 3600}


def test_the_policies_come_before_the_runtime_which_checks_them(made: Mapping[str, Made]) -> None:
    _, found = resource_of(made["plain"], RUNTIME)
    policy, _ = resource_of(made["plain"], "AWS::IAM::Policy")
    assert policy in found["DependsOn"]
    dependencies = json.loads((made["plain"].assembly.directory / "manifest.json").read_text())["artifacts"]
    assert "agent-dev-voice-foundation" in dependencies["agent-dev-voice-runtime"]["dependencies"]


def test_another_model_is_another_policy_so_that_the_old_version_keeps_its_own(made: Mapping[str, Made]) -> None:
    names = {which: resource_of(made[which], "AWS::IAM::Policy")[0] for which in ("plain", "us", "global", "full")}
    assert len({names["plain"], names["us"], names["global"]}) == 3
    assert names["full"] == names["us"]


@pytest.mark.parametrize(("which", "days"), [("plain", 30), ("full", 7)])
def test_the_log_group_is_there_before_the_endpoint_and_is_kept(
    made: Mapping[str, Made], which: str, days: int
) -> None:
    name, group = resource_of(made[which], "AWS::Logs::LogGroup")
    assert group["DeletionPolicy"] == "Retain"
    assert group["Properties"]["RetentionInDays"] == days
    begins, _, ends = group["Properties"]["LogGroupName"]["Fn::Join"][1]
    assert (begins, ends) == ("/aws/bedrock-agentcore/runtimes/", "-live")
    _, endpoint = resource_of(made[which], ENDPOINT)
    assert name in endpoint["DependsOn"]


def test_three_alarms_watch_the_endpoint_that_callers_are_given(made: Mapping[str, Made]) -> None:
    alarms = made["full"].of_type("runtime", "AWS::CloudWatch::Alarm")
    assert {each["MetricName"] for each in alarms} == {"SystemErrors", "Throttles", "Latency"}
    for alarm in alarms:
        dimensions = {each["Name"]: each["Value"] for each in alarm["Dimensions"]}
        assert alarm["Namespace"] == "AWS/Bedrock-AgentCore"
        assert dimensions["Name"] == "voice_dev::live"
        assert alarm["AlarmActions"] == ["arn:aws:sns:us-east-1:123456789012:voice"]


def test_what_callers_and_the_voice_read_is_published_once_the_endpoint_is_there(made: Mapping[str, Made]) -> None:
    resources = made["plain"]["runtime"]["Resources"]
    found = {each["Properties"]["Name"]: each for each in resources.values() if each["Type"] == "AWS::SSM::Parameter"}
    user = "/speech/dev/kokoro-82m/used-by/agent-dev-voice"
    assert set(found) == {"/agent/dev/voice/runtime-arn", "/agent/dev/voice/release", user}
    assert json.loads(found[user]["Properties"]["Value"]) == {
        "kind": "agent",
        "name": "agent-dev-voice",
        "removal": "agent-infra destroy",
    }
    endpoint, _ = resource_of(made["plain"], ENDPOINT)
    assert all(endpoint in each["DependsOn"] for each in found.values())


def test_the_release_fits_a_parameter_with_the_most_that_may_be_asked_for(made: Mapping[str, Made]) -> None:
    del made
    headers = tuple(f"X-Amzn-Bedrock-AgentCore-Runtime-Custom-{'x' * 62}{n:02}" for n in range(20))
    assert len(plan_of(f"us.{NOVA}", headers=headers).release.render().encode()) <= 4096


def test_the_network_lets_out_two_ports_and_nothing_in(made: Mapping[str, Made]) -> None:
    (group,) = made["full"].of_type("network", "AWS::EC2::SecurityGroup")
    assert sorted(rule["FromPort"] for rule in group["SecurityGroupEgress"]) == [443, 8443]
    assert "SecurityGroupIngress" not in group
    zones = [each["AvailabilityZone"] for each in made["full"].of_type("network", "AWS::EC2::Subnet")]
    assert all(isinstance(zone, dict) and "Fn::Select" in zone for zone in zones)
    assert runtime(made["full"])["NetworkConfiguration"]["NetworkMode"] == "VPC"


def test_transaction_search_belongs_to_the_account_and_is_kept(made: Mapping[str, Made]) -> None:
    resources = made["full"]["tracing"]["Resources"].values()
    assert {each["Type"] for each in resources} == {"AWS::Logs::ResourcePolicy", "AWS::XRay::TransactionSearchConfig"}
    assert all(each["DeletionPolicy"] == "Retain" for each in resources)


def test_the_builder_is_an_arm_machine_that_pushes_to_the_agents_repository_alone(made: Mapping[str, Made]) -> None:
    (project,) = made["full"].of_type("builder", "AWS::CodeBuild::Project")
    assert project["Environment"]["Type"] == "ARM_CONTAINER"
    spec = json.loads(project["Source"]["BuildSpec"])
    commands = [command for phase in spec["phases"].values() for command in phase["commands"]]
    assert [command.split()[1] for command in commands] == ["ecr", "build", "push"]
    assert '--platform "$PLATFORM"' in commands[1]


def test_what_is_kept_of_the_foundation_is_the_repository(made: Mapping[str, Made]) -> None:
    resources = made["plain"]["foundation"]["Resources"].values()
    kept = [each for each in resources if each.get("DeletionPolicy") == "Retain"]
    assert [each["Properties"]["RepositoryName"] for each in kept] == ["agent/dev/voice"]
