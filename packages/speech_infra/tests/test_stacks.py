"""The templates of the stacks: what runs, how it updates, what is kept."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from packages.speech_infra.tests.conftest import DIGEST, WEIGHTS, Made

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]


def test_the_model_runs_an_image_by_digest_isolated_with_weights_under_their_hash(made: Mapping[str, Made]) -> None:
    (model,) = made["plain"].of_type("endpoint", "AWS::SageMaker::Model")
    container = model["PrimaryContainer"]
    assert model["EnableNetworkIsolation"] is True
    assert container["Image"]["Fn::Join"][1][-1] == f"@{DIGEST}"
    source = container["ModelDataSource"]["S3DataSource"]
    assert source["S3Uri"]["Fn::Join"][1][-1] == f"/weights/{WEIGHTS}/"
    assert (source["S3DataType"], source["CompressionType"]) == ("S3Prefix", "None")


def test_a_gpu_variant_names_its_machine_image_and_a_cpu_variant_none(made: Mapping[str, Made]) -> None:
    def variant(which: str) -> dict[str, Any]:
        found: dict[str, Any] = made[which].of_type("endpoint", "AWS::SageMaker::EndpointConfig")[0]
        return dict(found["ProductionVariants"][0])

    assert variant("plain")["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert "InferenceAmiVersion" not in variant("full")


def test_an_update_of_one_instance_swaps_at_once_and_of_two_begins_with_a_canary(made: Mapping[str, Made]) -> None:
    def routing(which: str) -> dict[str, Any]:
        (endpoint,) = made[which].of_type("endpoint", "AWS::SageMaker::Endpoint")
        policy = endpoint["DeploymentConfig"]["BlueGreenUpdatePolicy"]
        return dict(policy["TrafficRoutingConfiguration"])

    assert routing("plain")["Type"] == "ALL_AT_ONCE"
    assert routing("full")["CanarySize"] == {"Type": "INSTANCE_COUNT", "Value": 1}


def test_a_rolling_update_moves_half_of_the_fleet_at_a_time(made: Mapping[str, Made]) -> None:
    (endpoint,) = made["rolling"].of_type("endpoint", "AWS::SageMaker::Endpoint")
    policy = endpoint["DeploymentConfig"]["RollingUpdatePolicy"]
    assert policy["MaximumBatchSize"] == {"Type": "INSTANCE_COUNT", "Value": 2}
    assert "BlueGreenUpdatePolicy" not in endpoint["DeploymentConfig"]


@pytest.mark.parametrize("which", ["plain", "full", "rolling"])
def test_the_alarms_of_sound_and_errors_guard_every_update(made: Mapping[str, Made], which: str) -> None:
    resources = made[which]["endpoint"]["Resources"]
    (endpoint,) = made[which].of_type("endpoint", "AWS::SageMaker::Endpoint")
    guards = endpoint["DeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"]
    metrics = {resources[each["AlarmName"]["Ref"]]["Properties"]["MetricName"] for each in guards}
    assert metrics == {"FirstChunkLatency", "Invocation5XXErrors"}


def test_scaling_goes_out_on_concurrency_and_in_only_after_a_quiet_quarter_of_an_hour(made: Mapping[str, Made]) -> None:
    policies = made["full"].of_type("endpoint", "AWS::ApplicationAutoScaling::ScalingPolicy")
    out, back = sorted(policies, key=lambda each: each["PolicyType"], reverse=True)
    tracking = out["TargetTrackingScalingPolicyConfiguration"]
    metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
    assert metric == "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    assert tracking["DisableScaleIn"] is True
    assert back["StepScalingPolicyConfiguration"]["StepAdjustments"][0]["ScalingAdjustment"] == -1
    alarms = made["full"].of_type("endpoint", "AWS::CloudWatch::Alarm")
    (quiet,) = [each for each in alarms if "fit on one instance less" in each["AlarmDescription"]]
    assert quiet["EvaluationPeriods"] * quiet["Period"] == 15 * 60
    (target,) = made["full"].of_type("endpoint", "AWS::ApplicationAutoScaling::ScalableTarget")
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 4)


def test_what_agents_read_is_there_also_while_the_endpoint_is_paused(made: Mapping[str, Made]) -> None:
    def parameters(which: str) -> set[str]:
        return {each["Name"] for each in made[which].of_type("endpoint", "AWS::SSM::Parameter")}

    wanted = {f"/speech/dev/kokoro-82m/{name}" for name in ("endpoint-name", "endpoint-arn", "region", "release")}
    assert parameters("plain") == parameters("paused") == wanted


def test_a_paused_stack_has_nothing_that_costs_by_the_hour(made: Mapping[str, Made]) -> None:
    kinds = {each["Type"] for each in made["paused"]["endpoint"]["Resources"].values()}
    assert kinds == {"AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig", "AWS::SSM::Parameter"}


def test_what_is_kept_has_names_that_the_next_stack_finds(
    made: Mapping[str, Made],
) -> None:
    kept = {
        name: each
        for name, each in made["full"]["foundation"]["Resources"].items()
        if each.get("DeletionPolicy") == "Retain"
    }
    kinds = sorted(each["Type"] for each in kept.values())
    assert kinds == ["AWS::ECR::Repository", "AWS::KMS::Key", "AWS::S3::Bucket", "AWS::S3::Bucket"]
    names = {each["Properties"].get("BucketName") or each["Properties"].get("RepositoryName") for each in kept.values()}
    assert "speech-dev-kokoro-82m-cpu-123456789012-us-east-1" in names
    assert "speech/dev/kokoro-82m-cpu" in names


def test_buckets_are_blocked_encrypted_and_the_weights_versioned_and_logged(made: Mapping[str, Made]) -> None:
    for which in ("plain", "full"):
        buckets = made[which].of_type("foundation", "AWS::S3::Bucket")
        assert all(set(each["PublicAccessBlockConfiguration"].values()) == {True} for each in buckets)
        assert all(each["BucketEncryption"] for each in buckets)
        (weights,) = [each for each in buckets if not each["BucketName"].endswith("-logs")]
        assert weights["VersioningConfiguration"]["Status"] == "Enabled"
        assert weights["LoggingConfiguration"]["LogFilePrefix"] == "weights/"


def test_the_repository_scans_what_is_pushed_and_never_moves_a_tag(made: Mapping[str, Made]) -> None:
    (repository,) = made["plain"].of_type("foundation", "AWS::ECR::Repository")
    assert repository["ImageScanningConfiguration"] == {"ScanOnPush": True}
    assert repository["ImageTagMutability"] == "IMMUTABLE"
    rules = json.loads(repository["LifecyclePolicy"]["LifecyclePolicyText"])["rules"]
    assert [rule["selection"]["tagStatus"] for rule in rules] == ["untagged", "any"]


def test_the_network_has_no_way_out_and_names_no_zone(made: Mapping[str, Made]) -> None:
    kinds = {each["Type"] for each in made["full"]["network"]["Resources"].values()}
    assert not kinds & {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway"}
    zones = [each["AvailabilityZone"] for each in made["full"].of_type("network", "AWS::EC2::Subnet")]
    assert all(isinstance(zone, dict) and "Fn::Select" in zone for zone in zones)


def test_the_dashboard_shows_whichever_engine_the_container_runs(made: Mapping[str, Made]) -> None:
    (dashboard,) = made["full"].of_type("endpoint", "AWS::CloudWatch::Dashboard")
    body = "".join(part for part in dashboard["DashboardBody"]["Fn::Join"][1] if isinstance(part, str))
    for engine in ("openvino", "onnx"):
        assert f'"FirstAudio","Engine","{engine}"' in body
    assert 'Engine=(\\"openvino\\" OR \\"onnx\\")' in body


def test_every_alarm_tells_the_topic_and_every_resource_carries_the_tag_that_was_asked_for(
    made: Mapping[str, Made],
) -> None:
    alarms = made["full"].of_type("endpoint", "AWS::CloudWatch::Alarm")
    told = [each for each in alarms if "arn:aws:sns:us-east-1:123456789012:voice" in each.get("AlarmActions", [])]
    assert len(told) == 4
    (model,) = made["full"].of_type("endpoint", "AWS::SageMaker::Model")
    assert {"Key": "team", "Value": "voice"} in model["Tags"]
